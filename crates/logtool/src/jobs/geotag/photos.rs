//! Finds the photos, and reads the times at which they were taken.

use std::{
    cmp::Ordering,
    collections::BTreeMap,
    fs,
    io::BufReader,
    path::{Path, PathBuf},
};

use exif::{DateTime, In, Reader, Tag, Value};
use jiff::tz::TimeZone;
use logtool_core::open_regular_file;

use crate::{
    error::{Context as _, Error, Result},
    jobs::geotag::jpeg::{self, ExifPosition},
};

/// A photo.
pub(super) struct Photo {
    /// The name of the file, which is that of the copy, too.
    pub(super) name: String,
    pub(super) path: PathBuf,
    pub(super) exif: ExifPosition,
    /// The time at which it was taken, if the Exif data have it.
    pub(super) taken: Option<PhotoTime>,
}

/// The time of a photo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PhotoTime {
    /// Nanoseconds of Unix time if the camera declares its time zone. Otherwise, the clock of the
    /// camera is read as UTC.
    pub(super) nanos: i64,
    /// The step of the clock in nanoseconds: a second, unless the camera records fractions.
    pub(super) step: i64,
}

/// Photos that were found, and those that cannot be read.
pub(super) struct FoundPhotos {
    /// The photos: in the order of their times if all have one, otherwise of their names.
    pub(super) list: Vec<Photo>,
    /// The errors of photos that cannot be read.
    pub(super) unreadable: Vec<(String, Error)>,
}

impl FoundPhotos {
    /// Finds the photos in `paths`: files, and folders of files that end in `.jpg` or `.jpeg`.
    ///
    /// # Errors
    /// If a path does not exist, if a folder cannot be read, if there are no photos, or if two have
    /// the same name.
    pub(super) fn find(paths: &[PathBuf]) -> Result<Self> {
        let mut files: BTreeMap<String, PathBuf> = BTreeMap::new();
        for path in paths {
            let metadata = fs::metadata(path)
                .with_context(|| format!("cannot open {}", path.display()))?;
            let found =
                if metadata.is_dir() { in_folder(path)? } else { vec![path.clone()] };
            for file in found {
                let name = file.file_name().unwrap_or_default().to_string_lossy();
                if let Some(other) =
                    files.insert(name.clone().into_owned(), file.clone())
                    && other != file
                {
                    let message = format!("two photos are called {name}");
                    let hint =
                        "tag the photos of each folder into an output of its own";
                    return Err(Error::invalid_request(message).with_hint(hint));
                }
            }
        }
        if files.is_empty() {
            let message = "there are no photos";
            let hint = "photos are files whose names end in .jpg or .jpeg";
            return Err(Error::not_found(message).with_hint(hint));
        }
        let (mut list, mut unreadable) = (Vec::new(), Vec::new());
        for (name, path) in files {
            match read(&path) {
                Ok((exif, taken)) => list.push(Photo { name, path, exif, taken }),
                Err(error) => unreadable.push((name, error)),
            }
        }
        list.sort_by(|a, b| natural_order(&a.name, &b.name));
        if list.iter().all(|photo| photo.taken.is_some()) {
            // Stable: photos of the same second keep the order of their names.
            list.sort_by_key(|photo| photo.taken.map(|taken| taken.nanos));
        }
        Ok(Self { list, unreadable })
    }

    /// Returns the times of all photos, in the middle of the steps of their clocks, and the longest
    /// step; `None` if one has no time.
    pub(super) fn times(&self) -> Option<(Vec<i64>, i64)> {
        let times = self.list.iter().map(|photo| photo.taken);
        let times: Vec<PhotoTime> = times.collect::<Option<_>>()?;
        let step = times.iter().map(|time| time.step).max().unwrap_or_default();
        let middle = |time: &PhotoTime| time.nanos.saturating_add(time.step / 2);
        Some((times.iter().map(middle).collect(), step))
    }
}

fn in_folder(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).map_err(Error::from);
    let entries = entries.with_context(|| folder.display().to_string())?;
    let mut files = Vec::new();
    for entry in entries {
        let path = entry?.path();
        let extension =
            path.extension().map(|end| end.to_string_lossy().to_lowercase());
        let is_photo = matches!(extension.as_deref(), Some("jpg" | "jpeg"));
        // Some systems add files with attributes, `._IMG_1.JPG`.
        let name = path.file_name().unwrap_or_default();
        let is_hidden = name.to_string_lossy().starts_with('.');
        // A pipe is reported as a photo that cannot be read.
        if is_photo && !is_hidden && !path.is_dir() {
            files.push(path);
        }
    }
    Ok(files)
}

fn read(path: &Path) -> Result<(ExifPosition, Option<PhotoTime>)> {
    let mut file = BufReader::new(open_regular_file(path)?);
    let exif = jpeg::find_exif(&mut file)?;
    let taken = exif.tiff.as_deref().and_then(photo_time);
    Ok((exif, taken))
}

/// Returns the time at which a photo with the Exif data `tiff` was taken.
fn photo_time(tiff: &[u8]) -> Option<PhotoTime> {
    let mut reader = Reader::new();
    // Cameras write incomplete maker notes and thumbnails; the time does not depend on them.
    reader.continue_on_error(true);
    let exif = reader.read_raw(tiff.to_vec());
    let exif = exif.or_else(|error| error.distill_partial_result(|_| {})).ok()?;
    let text = |tag: Tag| match &exif.get_field(tag, In::PRIMARY)?.value {
        Value::Ascii(text) => text.first().map(Vec::as_slice),
        _ => None,
    };
    let tags = [
        (Tag::DateTimeOriginal, Tag::SubSecTimeOriginal, Tag::OffsetTimeOriginal),
        (Tag::DateTimeDigitized, Tag::SubSecTimeDigitized, Tag::OffsetTimeDigitized),
        (Tag::DateTime, Tag::SubSecTime, Tag::OffsetTime),
    ];
    tags.into_iter().find_map(|(date, fraction, zone)| {
        let mut time = DateTime::from_ascii(text(date)?).ok()?;
        let fraction = text(fraction).unwrap_or_default().trim_ascii();
        if !fraction.is_empty() {
            time.parse_subsec(fraction).ok()?;
        }
        if let Some(zone) = text(zone) {
            // Spaces mean that the zone is unknown.
            let _ = time.parse_offset(zone);
        }
        let digits = u32::try_from(fraction.len()).ok()?.min(9);
        Some(PhotoTime {
            nanos: unix_nanos(&time)?,
            step: 1_000_000_000 / 10_i64.pow(digits),
        })
    })
}

fn unix_nanos(time: &DateTime) -> Option<i64> {
    let part = |number: u8| i8::try_from(number).ok();
    let date = jiff::civil::DateTime::new(
        i16::try_from(time.year).ok()?,
        part(time.month)?,
        part(time.day)?,
        part(time.hour)?,
        part(time.minute)?,
        // A leap second is the one before it.
        part(time.second.min(59))?,
        i32::try_from(time.nanosecond.unwrap_or(0)).ok()?,
    );
    let utc = date.ok()?.to_zoned(TimeZone::UTC).ok()?.timestamp();
    let zone = i64::from(time.offset.unwrap_or(0)) * 60_000_000_000;
    i64::try_from(utc.as_nanosecond()).ok()?.checked_sub(zone)
}

/// Compares names, with their numbers by value: `IMG_9` is before `IMG_10`.
fn natural_order(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a, b);
    while let (Some(x), Some(y)) = (left.chars().next(), right.chars().next()) {
        let order;
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let split = |text: &'_ str| {
                let end = text.find(|c: char| !c.is_ascii_digit());
                end.unwrap_or(text.len())
            };
            let (first, second);
            (first, left) = left.split_at(split(left));
            (second, right) = right.split_at(split(right));
            let digits = |text: &str| text.trim_start_matches('0').len();
            order = digits(first).cmp(&digits(second)).then_with(|| {
                first.trim_start_matches('0').cmp(second.trim_start_matches('0'))
            });
        } else {
            order = x.cmp(&y);
            left = left.get(x.len_utf8()..).unwrap_or_default();
            right = right.get(y.len_utf8()..).unwrap_or_default();
        }
        if order.is_ne() {
            return order;
        }
    }
    left.len().cmp(&right.len()).then_with(|| a.cmp(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted_by_their_numbers() {
        let mut names = ["DSC10.JPG", "DSC9.JPG", "DSC010.JPG", "A.JPG", "DSC9a.JPG"];
        names.sort_by(|a, b| natural_order(a, b));
        assert_eq!(
            names,
            ["A.JPG", "DSC9.JPG", "DSC9a.JPG", "DSC010.JPG", "DSC10.JPG"]
        );
    }

    #[test]
    fn times_are_read_with_fraction_and_zone() {
        let mut time = DateTime::from_ascii(b"2024:06:01 12:00:05").unwrap();
        assert_eq!(unix_nanos(&time), Some(1_717_243_205_000_000_000));
        time.parse_subsec(b"25").unwrap();
        time.parse_offset(b"+02:00").unwrap();
        assert_eq!(unix_nanos(&time), Some(1_717_236_005_250_000_000));
        let impossible = DateTime::from_ascii(b"2024:02:30 12:00:05");
        assert_eq!(impossible.ok().and_then(|time| unix_nanos(&time)), None);
    }
}
