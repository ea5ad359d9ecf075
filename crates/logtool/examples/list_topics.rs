//! Lists the topics of any log: `cargo run -p logtool --example list_topics -- flight.ulg`.

fn main() -> logtool::Result<()> {
    let path =
        std::env::args().nth(1).unwrap_or_else(|| "testdata/rover.bag".to_owned());
    let log = logtool::open(path)?;
    println!("{}: {}", log.name(), log.manifest().format);
    for topic in log.topics() {
        let records = topic.records.map_or("?".to_owned(), |count| count.to_string());
        println!("{:40} {records:>10} {}", topic.label(), topic.type_name);
    }
    Ok(())
}
