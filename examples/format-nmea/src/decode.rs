//! The columns of each type of sentence, and the reader that fills them.

use logtool_core::{
    Branch, Columns, Result, RowSummary, Scalar, StructType, TreeDecoder, TreeReader,
    ValueType,
};

use crate::sentence::Sentence;

/// Returns a decoder of sentences of the type `kind` into `columns`.
pub(crate) fn decoder(
    kind: &str,
    columns: &Columns,
) -> Result<TreeDecoder<SentenceReader>> {
    let shape = shape(kind);
    TreeDecoder::new(&shape.clone(), SentenceReader { shape }, 0, columns)
}

/// Returns the fields of sentences of the type `kind`: named values for known types, else
/// one list of strings.
fn shape(kind: &str) -> StructType {
    use ValueType::{F64, Text, U32};
    let fields: &[(&str, ValueType)] = match kind.get(2..).unwrap_or_default() {
        "GGA" => &[
            ("utc", Text),
            ("latitude", F64), // degrees * 100 + minutes
            ("latitude_hemisphere", Text),
            ("longitude", F64), // degrees * 100 + minutes
            ("longitude_hemisphere", Text),
            ("fix_quality", U32),
            ("satellites", U32),
            ("hdop", F64),
            ("altitude", F64), // metres above mean sea level
        ],
        "RMC" => &[
            ("utc", Text),
            ("status", Text),
            ("latitude", F64),
            ("latitude_hemisphere", Text),
            ("longitude", F64),
            ("longitude_hemisphere", Text),
            ("speed", F64),  // knots
            ("course", F64), // degrees
            ("date", Text),
        ],
        _ => &[],
    };
    let mut fields: Vec<(String, ValueType)> = fields
        .iter()
        .map(|(name, shape)| ((*name).to_owned(), shape.clone()))
        .collect();
    if fields.is_empty() {
        fields.push(("fields".to_owned(), ValueType::List(Box::new(Text))));
    }
    StructType { type_name: kind.to_owned(), fields }
}

/// Reads sentences of one type.
pub(crate) struct SentenceReader {
    shape: StructType,
}

impl TreeReader for SentenceReader {
    fn read(
        &mut self,
        payload: &[u8],
        row: &mut Branch,
        most: u64,
    ) -> Option<RowSummary> {
        let sentence = Sentence::parse(payload)?;
        let mut added = RowSummary::default();
        let texts = sentence.fields.split(',');
        if let [(_, ValueType::List(_))] = self.shape.fields.as_slice() {
            let list = row.field(0)?;
            for text in texts {
                added.items += 1;
                if added.items > most {
                    return None;
                }
                list.item()?.push(Scalar::Bytes(text.as_bytes()))?;
            }
            list.close();
        } else {
            let fields = self.shape.fields.iter().zip(texts).enumerate();
            for (index, ((_, shape), text)) in fields {
                // An empty field is null.
                if text.is_empty() {
                    continue;
                }
                let value = match shape {
                    ValueType::F64 => text.parse().ok().map(Scalar::F64),
                    ValueType::U32 => text.parse().ok().map(Scalar::UInt),
                    _ => Some(Scalar::Bytes(text.as_bytes())),
                };
                match value {
                    Some(value) => row.field(index)?.push(value)?,
                    None => added.type_mismatches += 1,
                }
            }
        }
        row.close();
        Some(added)
    }
}
