//! Reads and writes the file `db.xml` that comes with an HDL-64E.
//!
//! It is an archive of Boost serialization with degrees, centimetres, and lists with one
//! item per laser. Real files may lack fields or have laser numbers such as `0.0`. One
//! file in circulation is a web page instead of XML.

use std::fmt::Write as _;

use logtool_core::{Error, ErrorKind, Result};
use roxmltree::{Document, Node, ParsingOptions};

use crate::calibration::{
    laser::{Calibration, Laser, Origin, format_lasers},
    plausibility,
};

/// The maximum number of lasers in a file.
pub(super) const MAX_LASERS: usize = 128;

/// The maximum number of XML nodes. A calibration of 128 lasers has 6,000.
const MAX_NODES: u32 = 100_000;

impl Calibration {
    /// Parses a `db.xml`. `name` becomes its origin.
    ///
    /// # Errors
    /// `Malformed` if it is not a calibration, or if a number cannot be parsed. The error
    /// names the number.
    pub fn from_xml(text: &str, name: &str) -> Result<Self> {
        let options = ParsingOptions {
            allow_dtd: true,
            nodes_limit: MAX_NODES,
            ..ParsingOptions::default()
        };
        let document = Document::parse_with_options(text, options).map_err(|err| {
            Error::new(ErrorKind::Malformed, format!("{name} is not XML"))
                .with_source(err)
        })?;
        let db = document.descendants().find(|node| node.has_tag_name("DB"));
        let error = |message: String| {
            Error::new(ErrorKind::Malformed, format!("{name}: {message}"))
        };
        let db = db.ok_or_else(|| {
            error("no calibration, because there is no element `DB`".to_owned())
        })?;
        let list = |name| parse_list(db, name).map_err(error);
        let enabled = list("enabled_")?;
        let (min_intensities, max_intensities) =
            (list("minIntensity_")?, list("maxIntensity_")?);
        let mut lasers: Vec<Option<Laser>> = vec![];
        let (mut without_angle, mut repeated) = (vec![], vec![]);
        // The file calls the lasers points, and the element of a laser `px`.
        let points =
            child(db, "points_").into_iter().flat_map(|points| points.children());
        let items = points.filter(|node| node.has_tag_name("item"));
        for px in items.filter_map(|item| child(item, "px")) {
            let number = |name| child(px, name).map(parse_number).transpose();
            let id = number("id_").map_err(error)?;
            let id = id.ok_or_else(|| error("a laser has no `id_`".to_owned()))?;
            let id = laser_id(id).map_err(error)?;
            let index = usize::from(id);
            let field = |name| {
                let value = number(name)
                    .map_err(|message| error(format!("laser {id}: {message}")));
                value.map(|value| value.unwrap_or(0.0))
            };
            if child(px, "vertCorrection_").is_none() {
                without_angle.push(id);
            }
            let byte =
                |list: &[f64], default| list.get(index).map_or(default, |v| *v as u8);
            let laser = Laser {
                id,
                is_enabled: enabled.get(index).is_none_or(|v| *v != 0.0),
                rotation_deg: field("rotCorrection_")?,
                vertical_deg: field("vertCorrection_")?,
                far_correction_m: field("distCorrection_")? / 100.0,
                near_correction_x_m: field("distCorrectionX_")? / 100.0,
                near_correction_y_m: field("distCorrectionY_")? / 100.0,
                two_point: None,
                vertical_offset_m: field("vertOffsetCorrection_")? / 100.0,
                horizontal_offset_m: field("horizOffsetCorrection_")? / 100.0,
                focal_distance_m: field("focalDistance_")? / 100.0,
                focal_slope: field("focalSlope_")?,
                min_intensity: byte(&min_intensities, 0),
                max_intensity: byte(&max_intensities, 255),
            };
            if lasers.len() <= index {
                lasers.resize(index + 1, None);
            }
            if let Some(laser_slot) = lasers.get_mut(index)
                && laser_slot.replace(laser).is_some()
            {
                repeated.push(id);
            }
        }
        let step_cm = child(db, "distLSB_").map(parse_number).transpose();
        let step_m = step_cm.map_err(error)?.map(|cm| cm / 100.0);
        let origin = Origin::File(name.to_owned());
        let mut calibration =
            Self::from_lasers(lasers, &without_angle, step_m, origin)?;
        calibration.warn_of_repeated_lasers(repeated);
        Ok(calibration)
    }

    /// Returns the text of a `db.xml`. The format has no field for `two_point`.
    pub fn to_xml(&self) -> String {
        let mut out = String::from(PREAMBLE);
        let step_cm = self.distance_step_m.unwrap_or(0.002) * 100.0;
        let mut write = |text: std::fmt::Arguments<'_>| {
            // Writing to a `String` cannot fail.
            let _ = out.write_fmt(text);
        };
        write(format_args!("\t<distLSB_>{}</distLSB_>\n", format_number(step_cm)));
        type ByteOfLaser = fn(&Laser) -> u8;
        let lists: [(&str, ByteOfLaser); 3] = [
            ("enabled_", |laser| u8::from(laser.is_enabled)),
            ("minIntensity_", |laser| laser.min_intensity),
            ("maxIntensity_", |laser| laser.max_intensity),
        ];
        for (name, value_of) in lists {
            write(format_args!(
                "\t<{name}>\n\t\t<count>{}</count>\n",
                self.lasers.len()
            ));
            write(format_args!("\t\t<item_version>0</item_version>\n"));
            for laser in &self.lasers {
                write(format_args!("\t\t<item>{}</item>\n", value_of(laser)));
            }
            write(format_args!("\t</{name}>\n"));
        }
        write(format_args!(
            "\t<points_ class_id=\"7\" tracking_level=\"0\" version=\"0\">\n"
        ));
        write(format_args!("\t\t<count>{}</count>\n", self.lasers.len()));
        write(format_args!("\t\t<item_version>1</item_version>\n"));
        for (index, laser) in self.lasers.iter().enumerate() {
            // Boost describes a class where it first occurs, and refers to it afterwards.
            let (item, px) = if index == 0 {
                (
                    " class_id=\"8\" tracking_level=\"0\" version=\"1\"",
                    "class_id=\"9\" tracking_level=\"1\" version=\"1\"",
                )
            } else {
                ("", "class_id_reference=\"9\"")
            };
            write(format_args!(
                "\t\t<item{item}>\n\t\t\t<px {px} object_id=\"_{}\">\n",
                index + 1
            ));
            write(format_args!("\t\t\t\t<id_>{}</id_>\n", laser.id));
            let fields = [
                ("rotCorrection_", laser.rotation_deg),
                ("vertCorrection_", laser.vertical_deg),
                ("distCorrection_", laser.far_correction_m * 100.0),
                ("distCorrectionX_", laser.near_correction_x_m * 100.0),
                ("distCorrectionY_", laser.near_correction_y_m * 100.0),
                ("vertOffsetCorrection_", laser.vertical_offset_m * 100.0),
                ("horizOffsetCorrection_", laser.horizontal_offset_m * 100.0),
                ("focalDistance_", laser.focal_distance_m * 100.0),
                ("focalSlope_", laser.focal_slope),
            ];
            for (name, value) in fields {
                write(format_args!(
                    "\t\t\t\t<{name}>{}</{name}>\n",
                    format_number(value)
                ));
            }
            write(format_args!("\t\t\t</px>\n\t\t</item>\n"));
        }
        out.push_str("\t</points_>\n</DB>\n</boost_serialization>\n");
        out
    }

    /// Creates a calibration from `lasers`, in the order of their numbers. `without_angle`
    /// lists the numbers of lasers without a vertical angle.
    pub(super) fn from_lasers(
        mut lasers: Vec<Option<Laser>>,
        without_angle: &[u16],
        distance_step_m: Option<f64>,
        origin: Origin,
    ) -> Result<Self> {
        // The file of a VLP-16 has 64 lasers, and the last 48 are disabled.
        while lasers.last().is_some_and(|l| l.as_ref().is_none_or(|l| !l.is_enabled)) {
            lasers.pop();
        }
        if lasers.is_empty() {
            let message = format!("{origin} has no lasers");
            return Err(Error::new(ErrorKind::Malformed, message));
        }
        let mut warnings = vec![];
        let missing: Vec<u16> = (0..)
            .zip(&lasers)
            .filter_map(|(id, laser)| laser.is_none().then_some(id))
            .collect();
        if !missing.is_empty() {
            let verb = if missing.len() == 1 { "is" } else { "are" };
            warnings.push(format!(
                "{} {verb} missing: angles and corrections of zero are assumed",
                format_lasers(&missing)
            ));
        }
        let without_angle: Vec<u16> = without_angle
            .iter()
            .copied()
            .filter(|id| usize::from(*id) < lasers.len())
            .collect();
        if !without_angle.is_empty() {
            let verb = if without_angle.len() == 1 { "has" } else { "have" };
            warnings.push(format!(
                "{} {verb} no vertical angle: zero is assumed",
                format_lasers(&without_angle)
            ));
        }
        let laser_or_default = |(id, laser): (u16, Option<Laser>)| {
            laser.unwrap_or_else(|| Laser { is_enabled: false, ..Laser::new(id) })
        };
        let lasers: Vec<Laser> = (0..).zip(lasers).map(laser_or_default).collect();
        warnings.extend(plausibility::implausible_values(&lasers));
        if without_angle.is_empty() {
            warnings.extend(plausibility::equal_angles(&lasers));
        }
        Ok(Self {
            lasers,
            distance_step_m: distance_step_m.filter(|step| *step > 0.0),
            origin,
            sends_corrected_intensity: false,
            warnings,
        })
    }
}

/// The text before the first value of a `db.xml`.
const PREAMBLE: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\" ?>
<!DOCTYPE boost_serialization>
<boost_serialization signature=\"serialization::archive\" version=\"4\">
<DB class_id=\"0\" tracking_level=\"1\" version=\"0\" object_id=\"_0\">
";

fn child<'a, 'input>(node: Node<'a, 'input>, name: &str) -> Option<Node<'a, 'input>> {
    node.children().find(|node| node.has_tag_name(name))
}

/// Converts the number `id` of a laser, or returns a description of the error.
pub(super) fn laser_id(id: f64) -> Result<u16, String> {
    if (0.0..MAX_LASERS as f64).contains(&id) && id.fract() == 0.0 {
        Ok(id as u16)
    } else {
        let last = MAX_LASERS - 1;
        Err(format!("laser number {id} is not a whole number from 0 to {last}"))
    }
}

/// Returns the finite number in `node`, or an error that quotes the text of `node`.
fn parse_number(node: Node<'_, '_>) -> Result<f64, String> {
    let text = node.text().unwrap_or_default().trim();
    let value = text.parse().ok().filter(|value: &f64| value.is_finite());
    value.ok_or_else(|| {
        let line = node.document().text_pos_at(node.range().start).row;
        let name = node.tag_name().name();
        format!("`{name}` in line {line} is not a number: {text:?}")
    })
}

/// Returns the numbers in the list called `name`, one per laser.
fn parse_list(db: Node<'_, '_>, name: &str) -> Result<Vec<f64>, String> {
    let items = child(db, name).into_iter().flat_map(|list| list.children());
    let items = items.filter(|node| node.has_tag_name("item"));
    items.take(MAX_LASERS).map(parse_number).collect()
}

/// Formats a number with twelve digits, without the rounding noise of unit conversions.
pub(super) fn format_number(value: f64) -> String {
    let digits = format!("{value:.11e}");
    digits.parse::<f64>().map_or(digits, |value| value.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_correctly() {
        logtool_core::conformance::check_float_parser(|text| {
            let document = format!("<x> {text} </x>");
            let document = roxmltree::Document::parse(&document).unwrap();
            parse_number(document.root_element()).unwrap()
        });
    }
}
