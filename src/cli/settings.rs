//! Where a command's configuration comes from: defaults, then `TENURE_*`, then `--set`.

use super::exit::{Failure, USAGE};
use tenure::Config;

/// The configuration of this process.
pub fn config(set: &[String]) -> Result<Config, Failure> {
    let mut config = Config::default();
    from_environment(&mut config)?;
    for pair in set {
        let (key, value) = pair.split_once('=').ok_or_else(|| {
            Failure::own(USAGE, format!("--set {pair:?}: expected key=value, e.g. soft_ms=10000"))
        })?;
        config.set(key.trim(), value.trim())?;
    }
    config.check()?;
    Ok(config)
}

/// Known keys in the table's order, so that a preset comes before what refines it. Other `TENURE_*`
/// names (those `run` gives to its child) are not configuration and are left alone.
fn from_environment(config: &mut Config) -> Result<(), Failure> {
    for (key, _) in Config::KEYS {
        if let Ok(value) = std::env::var(format!("TENURE_{}", key.to_uppercase())) {
            config.set(key, &value)?;
        }
    }
    for (name, value) in std::env::vars_os() {
        let (Some(name), Some(value)) = (name.to_str(), value.to_str()) else { continue };
        if let Some(option) = name.strip_prefix("TENURE_STORE_") {
            config.set(&format!("store.{}", option.to_lowercase()), value)?;
        }
    }
    Ok(())
}
