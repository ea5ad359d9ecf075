//! Converts the logs of a folder to Parquet: `cargo run -p logtool --example convert -- logs`.

use std::{fs, path::Path, sync::Arc};

use logtool::{
    NoticeLevel, Progress, Result, Session, Task,
    convert::{Convert, ConvertRequest, Destination, OutputFormat},
    input::open,
};

struct Printer;
impl Progress for Printer {
    fn start(&self, _: &str, _: u64) -> Box<dyn Task> {
        Box::new(Self)
    }
    fn start_records(&self, _: &str, _: u64) -> Box<dyn Task> {
        Box::new(Self)
    }
    fn notice(&self, _: NoticeLevel, _: &str, _: &str) {}
}

impl Task for Printer {
    fn set_position(&self, bytes: u64) {
        println!("{bytes} bytes are done");
    }
}

fn main() -> Result<()> {
    let session = Session::new().with_progress(Arc::new(Printer));
    for entry in fs::read_dir(std::env::args().nth(1).unwrap_or("testdata".to_owned()))?
    {
        let log = entry?.path();
        if log.is_file() && open::is_log(&log)? {
            let folder = Path::new("tables").join(open::stem(&log)?);
            let request = ConvertRequest::new(OutputFormat::Parquet);
            Convert::new(&log, Destination::Folder(folder), request).run(&session)?;
        }
    }
    Ok(())
}
