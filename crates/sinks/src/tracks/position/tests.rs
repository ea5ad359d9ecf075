//! Rows and their positions, according to the definitions of their messages.

use std::sync::Arc;

use arrow_array::{
    BooleanArray, Float32Array, Float64Array, Int8Array, Int16Array, Int32Array,
    Int64Array, StringArray, UInt8Array, UInt16Array, UInt32Array, UInt64Array,
};
use arrow_schema::Field;

use super::*;
use crate::testing::{column, table, times, topic};

fn doubles(name: &str, values: Vec<f64>) -> (Field, ArrayRef) {
    column(name, Arc::new(Float64Array::from(values)))
}

/// Returns the positions in a table of a topic with the type `type_name`.
fn row_positions(
    type_name: &str,
    columns: Vec<(Field, ArrayRef)>,
) -> Option<Vec<RowPosition>> {
    let topic = Topic { type_name: type_name.to_owned(), ..topic("t", 0) };
    let table = table(columns);
    let position = PositionColumns::find(&topic, &table.schema())?;
    Some(position.row_positions(&table).collect())
}

fn known_position(
    nanos: i64,
    latitude: f64,
    longitude: f64,
    altitude: Option<f64>,
) -> RowPosition {
    RowPosition::Known(Fix { nanos: Some(nanos), latitude, longitude, altitude })
}

#[test]
fn px4_integers_are_scaled_degrees_and_millimetres() {
    let ints =
        |name, values: Vec<i32>| column(name, Arc::new(Int32Array::from(values)));
    let columns = vec![
        times("us", vec![Some(1_000), Some(2_000)]),
        ints("lat", vec![473_565_765, 473_565_765]),
        ints("lon", vec![-85_189_121, 85_189_121]),
        ints("alt", vec![428_924, 428_924]),
        column("fix_type", Arc::new(UInt8Array::from(vec![3, 2]))),
    ];
    let expected = [
        known_position(1_000, 47.356_576_5, -8.518_912_1, Some(428.924)),
        RowPosition::Unknown,
    ];
    assert_eq!(row_positions("vehicle_gps_position", columns).unwrap(), expected);
}

#[test]
fn fix_type_may_be_an_integer_of_any_width() {
    // Protocol buffers have no integers below 32 bits.
    let fix_types: [ArrayRef; 8] = [
        Arc::new(Int8Array::from(vec![3, 2])),
        Arc::new(Int16Array::from(vec![3, 2])),
        Arc::new(Int32Array::from(vec![3, 2])),
        Arc::new(Int64Array::from(vec![3, 2])),
        Arc::new(UInt8Array::from(vec![3, 2])),
        Arc::new(UInt16Array::from(vec![3, 2])),
        Arc::new(UInt32Array::from(vec![3, 2])),
        Arc::new(UInt64Array::from(vec![3, 2])),
    ];
    for fix_type in fix_types {
        let columns = vec![
            times("ns", vec![Some(1), Some(2)]),
            doubles("lat", vec![1.5, 1.5]),
            doubles("lon", vec![2.5, 2.5]),
            column("fix_type", fix_type.clone()),
        ];
        let expected = [known_position(1, 1.5, 2.5, None), RowPosition::Unknown];
        assert_eq!(
            row_positions("t", columns).unwrap(),
            expected,
            "{}",
            fix_type.data_type()
        );
    }
}

#[test]
fn invalid_rows_have_no_position() {
    let columns = || {
        vec![
            times("ns", vec![Some(1), Some(2)]),
            column("validity", Arc::new(UInt8Array::from(vec![0, 0x49]))),
            doubles("latitude", vec![1.5, 1.5]),
            doubles("longitude", vec![2.5, 2.5]),
        ]
    };
    let expected_fix = |nanos| known_position(nanos, 1.5, 2.5, None);
    assert_eq!(
        row_positions("GPSTDataM", columns()).unwrap(),
        [expected_fix(1), expected_fix(2)]
    );
    let mut topic = topic("gps", 0);
    topic.set_valid_row_value(73);
    let table = table(columns());
    assert_eq!(position_columns(&topic, &table.schema()), Some(vec![1, 2, 3]));
    let position = PositionColumns::find(&topic, &table.schema()).unwrap();
    let actual: Vec<RowPosition> = position.row_positions(&table).collect();
    assert_eq!(actual, [RowPosition::Unknown, expected_fix(2)]);
}

#[test]
fn position_of_a_nested_receiver_is_found() {
    let columns = vec![
        times("us", vec![Some(1)]),
        doubles("receiver.latitude", vec![1.5]),
        doubles("receiver.longitude", vec![2.5]),
        column("receiver.altitude_msl", Arc::new(Float32Array::from(vec![0.1]))),
        column("receiver.fix_type", Arc::new(UInt8Array::from(vec![4]))),
    ];
    // The altitude has the shortest text of the float32, not 0.10000000149011612.
    let expected = [known_position(1, 1.5, 2.5, Some(0.1))];
    assert_eq!(row_positions("vehicle_gnss", columns).unwrap(), expected);
}

#[test]
fn negative_status_of_ros_fixes_means_no_fix() {
    let columns = || {
        vec![
            times("ns", vec![Some(1), Some(2)]),
            column("status.status", Arc::new(Int8Array::from(vec![-1, 0]))),
            doubles("latitude", vec![48.0, 48.0]),
            doubles("longitude", vec![11.0, 11.0]),
            doubles("altitude", vec![f64::NAN, f64::NAN]),
        ]
    };
    let one_valid = [RowPosition::Unknown, known_position(2, 48.0, 11.0, None)];
    assert_eq!(row_positions("sensor_msgs/NavSatFix", columns()).unwrap(), one_valid);
    // In other topics, a status may have any meaning.
    let both_valid = [known_position(1, 48.0, 11.0, None), one_valid[1]];
    assert_eq!(row_positions("my_msgs/Beacon", columns()).unwrap(), both_valid);
}

#[test]
fn missing_and_impossible_coordinates_are_distinguished() {
    let columns = vec![
        times("us", [1, 2, 3, 4, 5].map(Some).to_vec()),
        doubles("lat", vec![f64::NAN, 90.1, -90.0, 0.0, 0.0]),
        doubles("lon", vec![1.0, 1.0, 180.0, -180.5, 0.0]),
    ];
    let expected = [
        RowPosition::Unknown,
        RowPosition::Impossible,
        known_position(3, -90.0, 180.0, None),
        RowPosition::Impossible,
        RowPosition::Unknown,
    ];
    assert_eq!(row_positions("t", columns).unwrap(), expected);
}

#[test]
fn invalid_altitude_is_dropped() {
    let columns = vec![
        times("us", vec![Some(1), Some(2)]),
        doubles("lat", vec![1.0, 1.0]),
        doubles("lon", vec![1.0, 1.0]),
        doubles("alt", vec![5.0, 5.0]),
        column("lat_lon_valid", Arc::new(BooleanArray::from(vec![true, false]))),
        column("alt_valid", Arc::new(BooleanArray::from(vec![false, true]))),
    ];
    let expected = [known_position(1, 1.0, 1.0, None), RowPosition::Unknown];
    assert_eq!(row_positions("vehicle_global_position", columns).unwrap(), expected);
}

#[test]
fn degrees_and_minutes_are_converted() {
    let mut topic = topic("gps", 0);
    topic.set_position_unit(PositionUnit::DegreesAndMinutes);
    let table = table(vec![
        times("ns", vec![Some(1)]),
        doubles("latitude", vec![5_021.75]),
        doubles("longitude", vec![-733.5]),
    ]);
    let position = PositionColumns::find(&topic, &table.schema()).unwrap();
    let row_positions: Vec<RowPosition> = position.row_positions(&table).collect();
    assert_eq!(
        row_positions,
        [known_position(1, 50.3625, -7.558_333_333_333_334, None)]
    );
}

#[test]
fn position_columns_must_be_numeric() {
    let text = |name| column(name, Arc::new(StringArray::from(vec!["1"])));
    let columns = vec![times("us", vec![Some(1)]), text("lat"), text("lon")];
    assert_eq!(row_positions("t", columns), None);
    let columns = vec![times("us", vec![Some(1)]), doubles("lat", vec![1.0])];
    assert_eq!(row_positions("t", columns), None);
}
