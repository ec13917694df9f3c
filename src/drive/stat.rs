//! What manifests say: one file's, or those under a prefix.
//!
//! Rule: an open file's tail is not looked at here (that takes a LIST each: `drive::view`), so
//! `length` is the finalised length. Tombstones are not files.

use super::context::FileContext;
use crate::base::{Error, FilePath, Result, Status};
use crate::wire::key;
use crate::wire::manifest::Manifest;
use futures::stream::{self, StreamExt, TryStreamExt};

/// Manifests read at once.
const PARALLEL: usize = 16;

/// One file's manifest. `NotFound` if there is none or only a tombstone.
pub(crate) async fn stat(ctx: &FileContext, path: &FilePath) -> Result<Manifest> {
    match ctx.manifest(path).await? {
        Some((manifest, _)) if manifest.is_live() => Ok(manifest),
        _ => Err(Error::new(Status::NotFound, "no such file").on(path)),
    }
}

/// Every file whose path begins with `prefix`, in path order.
pub(crate) async fn list(ctx: &FileContext, prefix: &str) -> Result<Vec<(FilePath, Manifest)>> {
    let rows = ctx.ask(key::FILES, ctx.store.files.list(key::FILES)).await?;
    let mut paths: Vec<FilePath> = rows
        .iter()
        .filter_map(|row| key::manifest_path(&row.key))
        .filter(|path| path.as_str().starts_with(prefix))
        .collect();
    paths.sort();
    let looked = paths.into_iter().map(|path| async move {
        let found = ctx.manifest(&path).await?;
        Ok::<_, Error>(found.filter(|(m, _)| m.is_live()).map(|(m, _)| (path, m)))
    });
    let found: Vec<Option<(FilePath, Manifest)>> =
        stream::iter(looked).buffered(PARALLEL).try_collect().await?;
    Ok(found.into_iter().flatten().collect())
}
