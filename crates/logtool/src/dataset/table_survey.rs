//! The tables of a dataset before its logs are converted.

use std::{collections::BTreeMap, path::Path};

use serde::{Deserialize, Serialize};

use crate::{
    dataset::{
        batch::BatchRequest,
        inputs::{self, InputLog},
        log_job::survey,
        progress::DatasetPlan,
        schedule::{Limits, Schedule},
        storage::Dataset,
        tables::RowSchema,
    },
    error::{Error, Result},
    source::session::Session,
};

/// The tables that a [`BatchRequest`] makes of some logs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct TableSurvey {
    /// The schemas of the rows of each log, by the index of the log in the inputs.
    schemas: BTreeMap<u64, Vec<RowSchema>>,
}

impl TableSurvey {
    /// Returns the survey as JSON.
    ///
    /// # Errors
    /// If it cannot be encoded.
    pub fn to_json(&self) -> Result<String> {
        Ok(serde_json::to_string(self)?)
    }

    /// Returns the survey that [`to_json`](Self::to_json) has encoded.
    ///
    /// # Errors
    /// `InvalidRequest` if `text` is not a survey.
    pub fn from_json(text: &str) -> Result<Self> {
        serde_json::from_str(text).map_err(|err| {
            Error::invalid_request(format!("not a survey of tables: {err}"))
        })
    }
}

impl BatchRequest {
    /// Returns the tables that the conversion makes of the logs of the shard, or of all logs.
    /// Logs that cannot be opened have no tables. Nothing is written.
    ///
    /// Topics whose rows cannot be in one table have a table for each type, and the first log
    /// gets the name without a suffix. So that this does not depend on which shard is the
    /// fastest, [`assign_tables`](Self::assign_tables) decides it for all shards.
    ///
    /// # Errors
    /// As those of [`run`](Self::run).
    pub fn survey_tables(&self, session: &Session) -> Result<TableSurvey> {
        self.check()?;
        let mut survey = TableSurvey::default();
        if !survey::has_tables(&self.conversion) {
            return Ok(survey);
        }
        let inputs = inputs::find(&self.inputs, &self.output, session)?;
        inputs.check()?;
        let is_own = self.shard.map(|shard| shard.has_logs(&inputs.logs));
        let is_own = |index: usize| {
            is_own.as_ref().is_none_or(|flags| flags.get(index) == Some(&true))
        };
        let own_logs = (0_u64..).zip(inputs.logs).enumerate();
        let own_logs = own_logs.filter(|(index, _)| is_own(*index)).map(|(_, log)| log);
        let (indices, logs): (Vec<u64>, Vec<InputLog>) = own_logs.unzip();
        self.progress.start(&DatasetPlan {
            logs: logs.len() as u64,
            bytes: logs.iter().map(|log| log.bytes).sum(),
            raised_memory_bytes: None,
        });
        let session = session.for_concurrent_logs();
        let schedule = Schedule {
            logs: &logs,
            limits: &Limits::new(self.memory_bytes, &logs),
            progress: &*self.progress,
            run: &|log, _, progress| {
                let request = &self.conversion;
                let schemas =
                    survey::row_schemas(log, request, self.strictness, &session);
                progress.skip();
                schemas
            },
        };
        schedule.for_each(&mut |index, _, schemas| {
            if let (Some(index), Ok(schemas)) = (indices.get(index), schemas) {
                survey.schemas.insert(*index, schemas);
            }
        })?;
        Ok(survey)
    }

    /// Assigns the topics in `surveys` to the tables of the dataset, in the order of the logs.
    /// Shards that run afterwards, in any order and as often as needed, give the dataset that
    /// one run gives. Nothing is converted.
    ///
    /// # Errors
    /// If another run is writing the dataset, or it cannot be written.
    pub fn assign_tables(
        &self,
        surveys: impl IntoIterator<Item = TableSurvey>,
        session: &Session,
    ) -> Result<()> {
        let mut schemas = BTreeMap::new();
        surveys.into_iter().for_each(|survey| schemas.extend(survey.schemas));
        let host = self.host_name.as_deref();
        let output: &Path = &self.output;
        let dataset = Dataset::open(output, None, host, session)?;
        schemas
            .values()
            .try_for_each(|schemas| dataset.assign_tables(schemas).map(drop))
    }
}
