//! Reads numbers from payloads with a known layout.

use logtool_core::{ByteReader, Layout, LayoutKind, Primitive, Record};

use crate::records::translate::px4::frame_conversion::Quaternion;

/// The location of numbers in payloads: a field, or an array.
#[derive(Clone, Copy, Debug)]
pub(in crate::records::translate) struct FieldReader {
    start: usize,
    primitive: Primitive,
    count: u32,
}

impl FieldReader {
    /// Finds the field `name` of `layout`, if it is numeric.
    pub(in crate::records::translate) fn find(
        layout: &Layout,
        name: &str,
    ) -> Option<Self> {
        let field = layout.fields.iter().find(|field| field.name == name)?;
        let LayoutKind::Primitive(primitive) = field.kind else { return None };
        let is_number = primitive != Primitive::Char && layout.is_fixed();
        let (start, count) = (field.offset as usize, field.count.unwrap_or(1));
        is_number.then_some(Self { start, primitive, count })
    }

    /// Finds the fields `names` of `layout`, if all are numeric.
    pub(in crate::records::translate) fn find_each<const N: usize>(
        layout: &Layout,
        names: [&str; N],
    ) -> Option<[Self; N]> {
        let readers = names.map(|name| Self::find(layout, name));
        let fields: Vec<Self> = readers.into_iter().collect::<Option<_>>()?;
        fields.try_into().ok()
    }

    /// Returns the field if it is an array of at least `count` numbers.
    pub(in crate::records::translate) fn at_least(self, count: u32) -> Option<Self> {
        (self.count >= count).then_some(self)
    }

    /// Reads the number at index `index` from `payload`; `None` if it is missing.
    pub(in crate::records::translate) fn get(
        self,
        payload: &[u8],
        index: u32,
    ) -> Option<f64> {
        let step = self.primitive.size() as usize;
        let start = self.start.checked_add(step.checked_mul(index as usize)?)?;
        let mut cut = ByteReader::new(payload.get(start..)?);
        (index < self.count).then_some(())?;
        Some(match self.primitive {
            Primitive::I8 => f64::from(cut.u8()? as i8),
            Primitive::U8 | Primitive::Bool | Primitive::Char => f64::from(cut.u8()?),
            Primitive::I16 => f64::from(cut.u16()? as i16),
            Primitive::U16 => f64::from(cut.u16()?),
            Primitive::I32 => f64::from(cut.i32()?),
            Primitive::U32 => f64::from(cut.u32()?),
            Primitive::I64 => cut.u64()? as i64 as f64,
            Primitive::U64 => cut.u64()? as f64,
            Primitive::F32 => f64::from(cut.f32()?),
            Primitive::F64 => f64::from_bits(cut.u64()?),
        })
    }

    /// Reads the first number from `payload`.
    pub(in crate::records::translate) fn first(self, payload: &[u8]) -> Option<f64> {
        self.get(payload, 0)
    }

    /// Reads the first numbers from `payload`.
    pub(in crate::records::translate) fn array<const N: usize>(
        self,
        payload: &[u8],
    ) -> Option<[f64; N]> {
        let mut numbers = [f64::NAN; N];
        for (index, number) in (0..).zip(&mut numbers) {
            *number = self.get(payload, index)?;
        }
        Some(numbers)
    }
}

/// Returns the time of a measurement in nanoseconds of the record's clock: the microseconds in the
/// payload at `field`, or else the time of the record.
pub(in crate::records::translate) fn measurement_time(
    field: Option<FieldReader>,
    record: &Record<'_>,
) -> i64 {
    // Microseconds of 285 years are exact.
    let micros = field.and_then(|field| field.first(record.payload));
    let micros = micros.filter(|micros| *micros > 0.0);
    let nanos = micros.map(|micros| (micros as i64).saturating_mul(1000));
    nanos.unwrap_or(record.time.as_nanos())
}

/// Reads the attitude from `payload`; `None` if it is unknown, i.e. NaN or 0.
pub(in crate::records::translate) fn read_attitude(
    field: FieldReader,
    payload: &[u8],
) -> Option<Quaternion> {
    let attitude: Quaternion = field.array(payload)?;
    let square: f64 = attitude.iter().map(|part| part * part).sum();
    (square.is_finite() && square > 0.0).then_some(attitude)
}
