//! Reads and writes calibrations in YAML, in the layout of ROS, velodyne_decoder and
//! nebula.
//!
//! ```text
//! distance_resolution: 0.002
//! num_lasers: 64
//! lasers:
//! - {laser_id: 0, rot_correction: -0.09, vert_correction: -0.12, dist_correction: 1.11, ...}
//! ```
//! Units are radians and metres. Only a subset of YAML is supported: maps of plain values
//! and lists of maps. Aliases are rejected, so that a small file stays small.

mod tree;

use std::fmt::Write as _;

use logtool_core::{Error, ErrorKind, Result};

use crate::calibration::{
    laser::{Calibration, Laser, Origin},
    xml::{format_number, laser_id},
    yaml::tree::Tree,
};

impl Calibration {
    /// Parses a YAML file. `name` becomes its origin.
    ///
    /// # Errors
    /// `Malformed` if it is not a calibration, or if a number cannot be parsed. The error
    /// names the number.
    pub fn from_yaml(text: &str, name: &str) -> Result<Self> {
        let error = |message: String| {
            Error::new(ErrorKind::Malformed, format!("{name}: {message}"))
        };
        let tree = Tree::parse(text)
            .map_err(|message| error(format!("not a calibration: {message}")))?;
        let Some(Tree::List(items)) = tree.get("lasers") else {
            return Err(error("there is no list `lasers`".to_owned()));
        };
        let mut lasers: Vec<Option<Laser>> = vec![];
        let (mut without_angle, mut repeated) = (vec![], vec![]);
        for item in items {
            let id = item.number("laser_id").map_err(error)?;
            let id = id.ok_or_else(|| error("a laser has no `laser_id`".to_owned()))?;
            let id = laser_id(id).map_err(error)?;
            let laser_error = |message| error(format!("laser {id}: {message}"));
            if let Some(key) = item.numeric_key() {
                let message = format!("`{key}` is a number instead of a key");
                return Err(laser_error(message));
            }
            let number = |key| item.number(key).map_err(laser_error);
            let field = |key| Ok::<_, Error>(number(key)?.unwrap_or(0.0));
            let byte = |key, default: f64| {
                Ok::<_, Error>(number(key)?.unwrap_or(default) as u8)
            };
            if number("vert_correction")?.is_none() {
                without_angle.push(id);
            }
            let two_point =
                item.boolean("two_pt_correction_available").map_err(laser_error)?;
            let laser = Laser {
                id,
                is_enabled: true,
                rotation_deg: field("rot_correction")?.to_degrees(),
                vertical_deg: field("vert_correction")?.to_degrees(),
                far_correction_m: field("dist_correction")?,
                near_correction_x_m: field("dist_correction_x")?,
                near_correction_y_m: field("dist_correction_y")?,
                // ROS only uses the near corrections if the file enables them.
                two_point: Some(two_point.unwrap_or(false)),
                vertical_offset_m: field("vert_offset_correction")?,
                horizontal_offset_m: field("horiz_offset_correction")?,
                focal_distance_m: field("focal_distance")?,
                focal_slope: field("focal_slope")?,
                min_intensity: byte("min_intensity", 0.0)?,
                max_intensity: byte("max_intensity", 255.0)?,
            };
            let index = usize::from(id);
            if lasers.len() <= index {
                lasers.resize(index + 1, None);
            }
            if let Some(laser_slot) = lasers.get_mut(index)
                && laser_slot.replace(laser).is_some()
            {
                repeated.push(id);
            }
        }
        let step = tree.number("distance_resolution").map_err(error)?;
        let origin = Origin::File(name.to_owned());
        let mut calibration = Self::from_lasers(lasers, &without_angle, step, origin)?;
        calibration.warn_of_repeated_lasers(repeated);
        Ok(calibration)
    }

    /// Returns the calibration as YAML for ROS and velodyne_decoder.
    pub fn to_yaml(&self) -> String {
        let mut out = String::new();
        let mut write = |text: std::fmt::Arguments<'_>| {
            // Writing to a `String` cannot fail.
            let _ = out.write_fmt(text);
        };
        let step = self.distance_step_m.unwrap_or(0.002);
        write(format_args!("# From: {}\n", self.origin.to_string().replace('\n', " ")));
        write(format_args!("distance_resolution: {}\n", format_number(step)));
        write(format_args!("num_lasers: {}\nlasers:\n", self.lasers.len()));
        for laser in &self.lasers {
            write(format_args!("- laser_id: {}\n", laser.id));
            let fields = [
                ("rot_correction", laser.rotation_deg.to_radians()),
                ("vert_correction", laser.vertical_deg.to_radians()),
                ("dist_correction", laser.far_correction_m),
                ("dist_correction_x", laser.near_correction_x_m),
                ("dist_correction_y", laser.near_correction_y_m),
                ("vert_offset_correction", laser.vertical_offset_m),
                ("horiz_offset_correction", laser.horizontal_offset_m),
                ("focal_distance", laser.focal_distance_m),
                ("focal_slope", laser.focal_slope),
            ];
            for (key, value) in fields {
                write(format_args!("  {key}: {}\n", format_number(value)));
            }
            write(format_args!(
                "  two_pt_correction_available: {}\n",
                laser.is_two_point()
            ));
            write(format_args!("  min_intensity: {}\n", laser.min_intensity));
            write(format_args!("  max_intensity: {}\n", laser.max_intensity));
        }
        out
    }
}

impl Laser {
    /// Returns whether to use the near corrections: as the file states, otherwise if both
    /// are known.
    pub fn is_two_point(&self) -> bool {
        self.two_point.unwrap_or(self.has_near_corrections())
    }

    /// Returns whether both near corrections are known.
    pub(crate) fn has_near_corrections(&self) -> bool {
        self.near_correction_x_m != 0.0 && self.near_correction_y_m != 0.0
    }
}
