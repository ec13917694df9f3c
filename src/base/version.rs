//! What a compare-and-swap compares.

/// A register's version as its store tells it. Both parts are compared: S3 and Azure tell by
/// `e_tag`, GCS by `version`, the local chain by both.
///
/// An `e_tag` may be a content hash: equal bytes may get an equal tag, so every record carries a
/// fresh nonce (PROTOCOL trap 6).
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Version {
    /// The entity tag.
    pub e_tag: Option<String>,
    /// The store's own version or generation.
    pub version: Option<String>,
}
