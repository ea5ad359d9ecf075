//! Reads AWS profiles from `~/.aws/credentials` and `~/.aws/config`.
//!
//! The files are described in "Configuration and credential file settings" of the AWS CLI. Profiles
//! with keys are supported; profiles that get their keys from a service are not.

use std::{
    collections::BTreeMap,
    env,
    io::{self, Read as _},
    path::{Path, PathBuf},
};

use logtool_core::open_regular_file;

use crate::failure::invalid_request;

/// The maximum length of a file.
const MAX_BYTES: u64 = 16 << 20;

/// The settings of a profile, by name.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Profile(BTreeMap<String, String>);

impl Profile {
    /// Returns the setting `name`.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(String::as_str)
    }

    /// Reads the profile that is selected in the environment, or the profile `default`. If the
    /// environment itself contains credentials, only the region and the endpoint of the profile are
    /// used.
    ///
    /// # Errors
    /// If the selected profile does not exist, or has no keys.
    pub(crate) fn from_environment() -> io::Result<Self> {
        const CREDENTIAL_VARIABLES: [&str; 3] = [
            "AWS_WEB_IDENTITY_TOKEN_FILE",
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
        ];
        let profile_name =
            env::var("AWS_PROFILE").or_else(|_| env::var("AWS_DEFAULT_PROFILE"));
        let profile_name = profile_name.ok();
        let is_set = |name: &str| env::var_os(name).is_some();
        let has_credential_service =
            profile_name.is_none() && CREDENTIAL_VARIABLES.into_iter().any(is_set);
        let name = profile_name.as_deref().unwrap_or("default");
        let read = |variable, file: &str| {
            let home = || env::home_dir().map(|home| home.join(".aws").join(file));
            let path = env::var_os(variable).map(PathBuf::from).or_else(home);
            path.map_or(Ok(String::new()), |path| read_settings(&path))
        };
        let config = read("AWS_CONFIG_FILE", "config")?;
        let credentials = read("AWS_SHARED_CREDENTIALS_FILE", "credentials")?;
        let mut profile = Self::from_settings(name, &config, &credentials);
        if is_set("AWS_ACCESS_KEY_ID") || has_credential_service {
            profile.0.retain(|key, _| ["region", "endpoint_url"].contains(&&**key));
            return Ok(profile);
        }
        match profile_name {
            Some(name) if profile.0.is_empty() => {
                Err(invalid_request(format!("there is no AWS profile `{name}`")))
            }
            Some(name) if profile.get("aws_access_key_id").is_none() => {
                Err(invalid_request(format!(
                    "the AWS profile `{name}` has no keys: `aws configure \
                     export-credentials --profile {name} --format env` puts them into the \
                     environment"
                )))
            }
            _ => Ok(profile),
        }
    }

    /// Combines the settings of both files for the profile `name`; `credentials` has precedence.
    fn from_settings(name: &str, config: &str, credentials: &str) -> Self {
        let mut settings = BTreeMap::new();
        let config_section = match name {
            "default" => "default".to_owned(),
            name => format!("profile {name}"),
        };
        for (text, section_name) in [(config, &*config_section), (credentials, name)] {
            let mut is_in_section = false;
            for line in text.lines() {
                if line.starts_with(['#', ';', ' ', '\t']) {
                    continue; // a comment, or a nested setting
                }
                let section = line.trim().strip_prefix('[');
                if let Some(section) = section.and_then(|text| text.split(']').next()) {
                    let mut words = section.split_whitespace();
                    is_in_section =
                        section_name.split(' ').all(|word| words.next() == Some(word));
                } else if let Some((key, value)) = line.split_once('=')
                    && is_in_section
                {
                    let (key, value) = (key.trim(), value.trim());
                    settings.insert(key.to_ascii_lowercase(), value.to_owned());
                }
            }
        }
        let services = settings.get("services");
        if let Some(url) = services.and_then(|name| endpoint(config, name)) {
            settings.insert("endpoint_url".to_owned(), url);
        }
        Self(settings)
    }
}

/// Returns the endpoint of S3 from the section `[services NAME]` of `config`.
fn endpoint(config: &str, name: &str) -> Option<String> {
    let (mut is_in_section, mut is_s3) = (false, false);
    for line in config.lines().filter(|line| !line.starts_with(['#', ';'])) {
        let pair = line.split_once('=').map(|(key, value)| (key.trim(), value.trim()));
        if let Some(section) = line.strip_prefix('[') {
            let section = section.split(']').next().unwrap_or_default();
            is_in_section = section.split_whitespace().eq(["services", name]);
            is_s3 = false;
        } else if !line.starts_with([' ', '\t']) {
            is_s3 = pair.is_some_and(|(key, _)| key == "s3");
        } else if let (true, Some(("endpoint_url", url))) =
            (is_in_section && is_s3, pair)
        {
            return Some(url.to_owned());
        }
    }
    None
}

/// Returns the text of the file at `path`. A file that cannot be read has no settings.
///
/// # Errors
/// `InvalidInput` if it is a pipe, a device or a socket.
fn read_settings(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    match open_regular_file(path) {
        Ok(file) => match file.take(MAX_BYTES).read_to_string(&mut text) {
            Ok(_) => Ok(text),
            Err(_) => Ok(String::new()),
        },
        Err(err) if err.kind() == io::ErrorKind::InvalidInput => {
            Err(invalid_request(format!("{}: {err}", path.display())))
        }
        Err(_) => Ok(String::new()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: &str = "[default]\nregion=us-west-2\n\n[profile lab]\n# ours\n\
                          region = eu-central-1\ns3 =\n  addressing_style = path\n\
                          endpoint_url = http://lab:9000\n";
    const CREDENTIALS: &str = "[default]\naws_access_key_id=A\naws_secret_access_key = s=1\n\
                               [lab]\naws_access_key_id = B\n";

    #[test]
    fn profile_combines_both_files() {
        let lab = Profile::from_settings("lab", CONFIG, CREDENTIALS);
        assert_eq!(lab.get("region"), Some("eu-central-1"));
        assert_eq!(lab.get("endpoint_url"), Some("http://lab:9000"));
        assert_eq!(lab.get("aws_access_key_id"), Some("B"));
        assert_eq!(lab.get("addressing_style"), None);
        let default = Profile::from_settings("default", CONFIG, CREDENTIALS);
        assert_eq!(default.get("aws_secret_access_key"), Some("s=1"));
        assert_eq!(default.get("region"), Some("us-west-2"));
        assert_eq!(
            Profile::from_settings("other", CONFIG, CREDENTIALS),
            Profile::default()
        );
    }

    // From "Service-specific endpoints", AWS SDKs and Tools Reference Guide.
    #[test]
    fn endpoint_is_read_from_the_services_section() {
        let config = "[profile dev]\nservices = lab\nendpoint_url = http://all:1\n\
                      [services lab]\ndynamodb =\n  endpoint_url = http://db:2\n\
                      s3 =\n  endpoint_url = http://s3:3\n[services other]\ns3 =\n  \
                      endpoint_url = http://s3:4\n";
        let profile = Profile::from_settings("dev", config, "");
        assert_eq!(profile.get("endpoint_url"), Some("http://s3:3"));
        let other = config.replace("services = lab", "services = none");
        let profile = Profile::from_settings("dev", &other, "");
        assert_eq!(profile.get("endpoint_url"), Some("http://all:1"));
    }
}
