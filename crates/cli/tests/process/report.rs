//! Pages: what is in them. That browsers show them, the conformance suite proves.

use crate::{program::Folder, samples::testdata};

#[test]
fn a_page_of_each_format_has_all_in_it() {
    let folder = Folder::new();
    for (log, titles) in [
        (
            "quad_flight.ulg",
            &["Summary", "Track", "Plots", "Messages", "Parameters"][..],
        ),
        ("rover.bag", &["Summary", "Track", "Scans", "Images"]),
        ("car.vel", &["Summary", "Scans", "Images"]),
        ("puck.pcap", &["Summary", "Scans"]),
    ] {
        let out = format!("{log}.html");
        folder.run(&["report", &testdata(log), "-o", &out]).ended(0, &["pieces"]);
        let page = folder.read(&out);
        for title in titles {
            assert!(page.contains(&format!("<h2>{title}</h2>")), "{log}: {title}");
        }
        // Nothing is loaded from anywhere.
        assert!(page.contains("default-src 'none'"));
        for loads in ["src=\"http", "href=\"http", "@import", "url("] {
            assert!(!page.contains(loads), "{log}: {loads}");
        }
    }
    let page = folder.read("quad_flight.ulg.html");
    assert!(
        page.contains("Low battery level! Return advised") && page.contains("BAT1_")
    );
}

#[test]
fn what_is_no_page_is_refused_and_nothing_is_there() {
    let (folder, bag) = (Folder::new(), testdata("rover.bag"));
    folder.run(&["report", &bag, "-o", "x.pdf"]).ended(2, &[".html"]);
    folder.run(&["report", "missing.bag", "-o", "x.html"]).ended(1, &["missing.bag"]);
    assert_eq!(folder.list("."), Vec::<String>::new());
}
