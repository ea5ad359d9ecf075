//! Computes all points of a capture of one lidar with logtool, and touches every batch:
//! `points_logtool CAPTURE FORMULA all|six`.
//!
//! `six` selects the columns that velodyne_decoder computes: position, intensity, ring, and time.

use std::{
    error::Error,
    fs::File,
    sync::{Arc, Mutex},
};

use arrow_array::{RecordBatch, cast::AsArray as _, types::Float32Type};
use arrow_schema::SchemaRef;
use logtool_core::{
    Columns, FileSource, Log as _, OpenOptions, Result, Selection, TableJob, TableSink,
    TableWriter, TimeBase, Topic, View, export_tables,
};
use logtool_velodyne::{capture::CaptureLog, lidar::LidarOptions};

/// The time, `x`, `y`, `z`, `intensity_calibrated` and `ring`.
const SIX: [usize; 6] = [0, 1, 2, 3, 5, 7];

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [path, formula, columns] = arguments.as_slice() else {
        return Err("usage: points_logtool CAPTURE FORMULA all|six".into());
    };
    let mut lidar = LidarOptions::default();
    lidar.points.formula = formula.parse()?;
    let source = Arc::new(FileSource::new(File::open(path)?)?);
    let log = CaptureLog::open_with(source, OpenOptions::default(), &lidar)?;
    let topics = [log.manifest().topic_id("points")?].into_iter().collect();
    let mut wanted = Columns::new(View::Nested);
    wanted.indices = (columns == "six").then(|| SIX.to_vec());
    let job = TableJob {
        selection: Selection { topics, ..Selection::default() },
        columns: wanted,
        columns_by_topic: Default::default(),
        time: TimeBase::default(),
        part_bytes: 8 << 20,
        progress: &|_| {},
    };
    let touch = Touch::default();
    let report = export_tables(&log, &job, &touch)?;
    let (points, sum) = *touch.sum.lock().map_err(|err| err.to_string())?;
    println!("{} packets, {points} points, sum of x {sum:.0}", report.records);
    Ok(())
}

/// A sink that counts the points, and adds up their `x`.
#[derive(Default)]
struct Touch {
    sum: Arc<Mutex<(usize, f64)>>,
}

struct TouchTable(Arc<Mutex<(usize, f64)>>);

impl TableSink for Touch {
    fn new_table(&self, _: &Topic, _: &SchemaRef) -> Result<Box<dyn TableWriter>> {
        Ok(Box::new(TouchTable(self.sum.clone())))
    }
}

impl TableWriter for TouchTable {
    fn write(&mut self, batch: &RecordBatch) -> Result<()> {
        let x = batch["x"].as_primitive::<Float32Type>().values();
        let sum: f64 = x.chunks(64).map(|x| f64::from(x.iter().sum::<f32>())).sum();
        if let Ok(mut all) = self.0.lock() {
            *all = (all.0 + batch.num_rows(), all.1 + sum);
        }
        Ok(())
    }

    fn finish(self: Box<Self>) -> Result<()> {
        Ok(())
    }
}
