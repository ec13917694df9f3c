//! Written once the file store is here.
