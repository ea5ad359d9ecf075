//! The cases of lidars.

use crate::{program::Folder, samples::sample};

#[test]
fn repair_keeps_equal_packets_that_become_adjacent() {
    let name = "cases/velodyne/repair_loses_equal_packet.pcap.gz";
    let Some(file) = sample(name) else { return };
    let folder = Folder::new();
    let packets = |file: &str| {
        let info = folder.run(&["info", "--json", file]).json_lines();
        let topics = info[0]["topics"].as_array().unwrap().clone();
        let of_packets = topics.iter().filter(|topic| topic["origin"] != "derived");
        of_packets.map(|topic| topic["records"].as_u64().unwrap()).sum::<u64>()
    };
    assert_eq!(packets(&file), 268);
    folder.run(&["repair", &file, "-o", "new.pcap"]);
    assert_eq!(packets("new.pcap"), 268);
}

/// Its few packets are far apart in time, so no blanked sector can be detected.
#[test]
fn few_packets_have_no_field_of_view() {
    let Some(log) = sample("cases/velodyne/cntmis.vel") else { return };
    let info = Folder::new().run(&["info", &log]);
    assert!(!info.stdout.contains("field of view"), "{info:?}");
}
