//! Writes the positions of a flight into its photos.

mod gps_tags;
mod jpeg;
mod listing;
mod matching;
mod photos;
mod shots;

use std::{
    collections::BTreeSet,
    fs,
    io::{BufReader, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use logtool_core::open_regular_file;
use logtool_sinks::ExistingFiles;

pub use self::{
    matching::MatchMethod,
    shots::{Position, Shot},
};
use crate::{
    error::{Context as _, Error, Result},
    formats::{self, LogFormat},
    jobs::{
        geotag::{
            gps_tags::GpsTags,
            matching::MatchInput,
            photos::{FoundPhotos, Photo},
            shots::Shots,
        },
        output::guarded_outputs::{self, GuardedOutputs},
    },
    records::log::Log,
    source::{
        losses::{Findings, Strictness},
        session::Session,
    },
    text::units::count_of,
};

/// The name of the table of matches in the output.
const TABLE: &str = "photos.csv";
/// The name of the placemarks in the output.
const PLACEMARKS: &str = "photos.kml";

/// A request to write copies of photos with the positions at which they were taken.
///
/// The shots of the camera are read from a ULog and matched to the photos. The copies have GPS tags
/// in their Exif data: latitude, longitude, altitude above mean sea level, UTC, and the direction of
/// the image. The table `photos.csv` has all matches, and `photos.kml` a placemark of each photo.
///
/// ```no_run
/// use logtool::{Session, geotag::Geotag};
///
/// let report = Geotag::new("flight.ulg", "tagged")
///     .with_photos(["photos"])
///     .run(&Session::new())?;
/// println!("{} photos, {} shots", report.tagged, report.shots);
/// # Ok::<(), logtool::Error>(())
/// ```
#[derive(Clone, Debug)]
#[must_use]
pub struct Geotag {
    log: PathBuf,
    output: PathBuf,
    photos: Vec<PathBuf>,
    method: MatchMethod,
    offset: Option<i64>,
    is_partial: bool,
    existing: ExistingFiles,
    strictness: Strictness,
}

/// The result of a [`Geotag`].
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct GeotagReport {
    /// The name of the log.
    pub name: String,
    /// The folder of the copies.
    pub output: PathBuf,
    /// The photos with their shots.
    pub photos: Vec<PhotoMatch>,
    /// The number of photos that were tagged.
    pub tagged: u64,
    /// The number of shots in the log.
    pub shots: u64,
    /// The shots without a photo.
    pub unused_shots: Vec<Shot>,
    /// The topic of the shots.
    pub topic: String,
    /// Whether the photos were matched one by one, not by their times.
    pub is_by_sequence: bool,
    /// The offset from the clock of the camera to UTC, or to the clock of a log without a UTC
    /// reference, in nanoseconds. It is `None` if not all photos have a time.
    pub offset_ns: Option<i64>,
    /// Remarks for users, a sentence each.
    pub remarks: Vec<String>,
    /// The losses and the damage of the log.
    pub losses: Findings,
}

/// A photo and its shot.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PhotoMatch {
    /// The name of the file.
    pub photo: String,
    /// The shot, if there is one.
    pub shot: Option<Shot>,
    /// The time of the camera's clock, as nanoseconds of Unix time, if the photo has it.
    pub taken_ns: Option<i64>,
    /// Whether the photo was compared with the UTC of shots.
    pub is_utc: bool,
    /// The reason why it was not tagged, if it was not.
    pub failure: Option<String>,
}

impl Geotag {
    /// Creates a request to write tagged photos to the folder `output`, by the ULog `log`. Both
    /// are paths or URLs.
    pub fn new(log: impl Into<PathBuf>, output: impl Into<PathBuf>) -> Self {
        Self {
            log: log.into(),
            output: output.into(),
            photos: Vec::new(),
            method: MatchMethod::Auto,
            offset: None,
            is_partial: false,
            existing: ExistingFiles::Refuse,
            strictness: Strictness::Tolerant,
        }
    }

    /// Adds photos: paths of JPEG files, and of folders with such files.
    pub fn with_photos(
        mut self,
        paths: impl IntoIterator<Item = impl Into<PathBuf>>,
    ) -> Self {
        self.photos.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Sets how photos are matched to shots.
    pub fn with_method(mut self, method: MatchMethod) -> Self {
        self.method = method;
        self
    }

    /// Sets the offset in nanoseconds that is added to the times of the camera. By default, it is
    /// searched.
    pub fn with_offset(mut self, nanos: i64) -> Self {
        self.offset = Some(nanos);
        self
    }

    /// Leaves out photos that cannot be read, that have no shot, or no position. By default, each
    /// is an error.
    pub fn with_partial_output(mut self) -> Self {
        self.is_partial = true;
        self
    }

    /// Replaces files that exist in the output.
    pub fn with_replacement(mut self) -> Self {
        self.existing = ExistingFiles::Replace;
        self
    }

    /// Sets whether losses in the log are errors. The default is tolerant.
    pub fn with_strictness(mut self, strictness: Strictness) -> Self {
        self.strictness = strictness;
        self
    }

    /// Writes the copies, the table and the placemarks.
    ///
    /// # Errors
    /// If the log has no shots, if the numbers or the times of photos and shots do not fit, if a
    /// photo cannot be read or has no position and the request does not allow that, or if the
    /// output is the folder of a photo or cannot be written.
    pub fn run(&self, session: &Session) -> Result<GeotagReport> {
        let log = Log::open(&self.log, session)?;
        let name = log.name().to_owned();
        self.check_output()?;
        let format = LogFormat::from_manifest(log.manifest());
        formats::require_ulog(format, "record shots of a camera")
            .with_context(|| name.clone())?;
        let found = self.find_photos()?;
        self.tag(&log, found, session).with_context(|| name)
    }

    /// Finds the photos. Returns an error if one cannot be read, unless such photos are left out.
    fn find_photos(&self) -> Result<FoundPhotos> {
        let found = FoundPhotos::find(&self.photos)?;
        match found.unreadable.first() {
            Some((photo, error)) if !self.is_partial => {
                let error = Error::other(format!("{photo}: {error}"));
                Err(error.with_hint("--partial leaves out photos that cannot be read"))
            }
            _ => Ok(found),
        }
    }

    fn tag(
        &self,
        log: &Log,
        found: FoundPhotos,
        session: &Session,
    ) -> Result<GeotagReport> {
        let mut losses = log.losses();
        losses.check(self.strictness)?;
        let shots = Shots::read(log, &mut losses, self.strictness)?;
        let (times, shot_times) = (found.times(), shots.times());
        let matches = MatchInput {
            photos: found.list.len(),
            taken: times.as_ref().map(|(times, step)| (times.as_slice(), *step)),
            shots: &shot_times,
            topic: shots.topic,
            offset: self.offset,
            is_partial: self.is_partial,
        }
        .find(self.method)?;

        let outputs =
            guarded_outputs::for_folder(&self.output, self.existing, session)?;
        let mut photos = Vec::new();
        for (photo, shot) in found.list.iter().zip(&matches.shots) {
            let shot = shot.and_then(|shot| shots.list.get(shot));
            let mut failure = None;
            let tagged = self.write_photo(photo, shot, &outputs);
            match tagged {
                Ok(()) => {}
                Err(PhotoFailure::Skipped(reason)) if self.is_partial => {
                    failure = Some(reason)
                }
                Err(PhotoFailure::Skipped(reason)) => {
                    let error = Error::other(format!("{}: {reason}", photo.name));
                    return Err(error.with_hint("--partial leaves out such photos"));
                }
                Err(PhotoFailure::Output(error)) => return Err(error),
            }
            photos.push(PhotoMatch {
                photo: photo.name.clone(),
                shot: shot.cloned(),
                taken_ns: photo.taken.map(|taken| taken.nanos),
                is_utc: shots.is_utc,
                failure,
            });
        }
        let unreadable =
            found.unreadable.into_iter().map(|(photo, error)| PhotoMatch {
                photo,
                shot: None,
                taken_ns: None,
                is_utc: shots.is_utc,
                failure: Some(error.to_string()),
            });
        photos.extend(unreadable);
        let used: BTreeSet<usize> = matches.shots.iter().flatten().copied().collect();
        let unused = shots.list.iter().enumerate();
        let unused = unused.filter(|(index, _)| !used.contains(index));
        let unused: Vec<Shot> = unused.map(|(_, shot)| shot.clone()).collect();
        let written = listing::csv(&photos, &unused, matches.offset)
            .and_then(|table| Ok((table, listing::kml(log.name(), &photos)?)));
        let (table, placemarks) =
            written.map_err(|_| Error::other("the table cannot be formatted"))?;
        outputs.write(TABLE, table.as_bytes())?;
        outputs.write(PLACEMARKS, placemarks.as_bytes())?;
        let tagged = photos.iter().filter(|photo| photo.failure.is_none()).count();
        if tagged == 0 {
            return Err(Error::other("no photo can be tagged"));
        }
        outputs.commit()?;

        let mut remarks = shots.remarks;
        if matches.is_by_sequence && times.is_none() {
            let message = "not all photos have the time in their Exif data: they were paired in the \
                        order of their names, and no time confirms that";
            remarks.push(message.to_owned());
        }
        let without_utc =
            shots.list.iter().filter(|shot| shot.utc_ns.is_none()).count();
        if without_utc > 0 {
            remarks.push(format!(
                "{} without UTC, so that the tags have no time",
                count_of(without_utc as u64, "shot")
            ));
        }
        Ok(GeotagReport {
            name: log.name().to_owned(),
            output: self.output.clone(),
            tagged: tagged as u64,
            shots: shots.list.len() as u64,
            unused_shots: unused,
            photos,
            topic: shots.topic.to_owned(),
            is_by_sequence: matches.is_by_sequence,
            offset_ns: matches.offset,
            remarks,
            losses,
        })
    }

    /// Writes the copy of `photo` with the position of `shot`.
    fn write_photo(
        &self,
        photo: &Photo,
        shot: Option<&Shot>,
        outputs: &GuardedOutputs,
    ) -> Result<(), PhotoFailure> {
        let skipped = |reason: &str| PhotoFailure::Skipped(reason.to_owned());
        let shot = shot.ok_or_else(|| skipped("no shot"))?;
        let position = shot.position.ok_or_else(|| skipped("no position"))?;
        let tags =
            GpsTags { position, utc: shot.utc_ns, direction: shot.direction_deg };
        let read = |error: Error| PhotoFailure::Skipped(error.to_string());
        let tiff =
            gps_tags::with_gps(photo.exif.tiff.as_deref(), &tags).map_err(read)?;
        jpeg::check_len(&tiff).map_err(read)?;
        let file =
            open_regular_file(&photo.path).map_err(|error| read(error.into()))?;
        let write = || {
            let mut out = BufWriter::new(outputs.create(&photo.name)?);
            jpeg::write_copy(&mut BufReader::new(file), &photo.exif, &tiff, &mut out)?;
            out.flush()?;
            let out = out.into_inner().map_err(|error| error.into_error())?;
            Ok::<_, Error>(out.finish()?)
        };
        write().map_err(|error| PhotoFailure::Output(error.context(photo.name.clone())))
    }

    /// Rejects the folder of a photo as the output, because a copy would replace the photo.
    fn check_output(&self) -> Result<()> {
        let Ok(output) = fs::canonicalize(&self.output) else { return Ok(()) };
        for path in &self.photos {
            let folder = if path.is_dir() { Some(&**path) } else { path.parent() };
            let folder = folder.map(|folder| {
                if folder.as_os_str().is_empty() { Path::new(".") } else { folder }
            });
            let folder = folder.and_then(|folder| fs::canonicalize(folder).ok());
            if folder.as_ref() == Some(&output) {
                let message =
                    format!("{} is the folder of the photos", self.output.display());
                let hint = "the copies need another folder, because the photos stay as they are";
                return Err(Error::invalid_request(message).with_hint(hint));
            }
        }
        Ok(())
    }
}

/// The reason why a photo was not tagged.
enum PhotoFailure {
    /// The photo may be left out, for this reason.
    Skipped(String),
    /// The copy cannot be written.
    Output(Error),
}
