//! The tables, and the one statement that each change to them takes.

use alloc::string::String;
use core::cell::Cell;

use leasehold::host::{Mutation, Row, Snapshot, kind};
use wasm_bindgen::prelude::*;

use crate::sql::{SqlStorage, bytes};

/// The version of the tables below and of the records in them.
const SCHEMA: &str = "3";

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS meta (place TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS records (place TEXT PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID;
INSERT INTO meta VALUES ('schema', '3') ON CONFLICT DO NOTHING;
";

/// An object's SQLite storage. Its tables are made by the first write, never by a question.
pub(crate) struct Store {
    sql: SqlStorage,
    has_tables: Cell<bool>,
}

impl Store {
    pub fn new(sql: SqlStorage) -> Self {
        Self {
            sql,
            has_tables: Cell::new(false),
        }
    }

    /// Whether anything was ever stored.
    pub fn is_used(&self) -> Result<bool, JsValue> {
        if !self.has_tables.get() {
            let tables = "SELECT name AS place FROM sqlite_master WHERE name = 'meta'";
            let tables = self.sql.run(tables)?.rows()?;
            self.has_tables.set(!tables.is_empty());
        }
        Ok(self.has_tables.get())
    }

    /// Everything stored.
    pub fn load(&self) -> Result<Snapshot, JsValue> {
        let mut snapshot = Snapshot::default();
        if !self.is_used()? {
            return Ok(snapshot);
        }
        self.check_schema()?;
        for row in self.sql.run("SELECT place, value FROM records")?.rows()? {
            let place = row.place().as_string().unwrap_or_default();
            if snapshot.add(&place, &bytes(&row.value())).is_none() {
                let message = ["a stored record can't be read: ", kind(&place)].concat();
                return Err(JsError::new(&message).into());
            }
        }
        Ok(snapshot)
    }

    /// Carries out one change.
    pub fn apply(&self, mutation: Mutation) -> Result<(), JsValue> {
        self.create()?;
        let Row { place, record } = mutation.into();
        let sql = &self.sql;
        match record {
            Some(record) => {
                let put = "INSERT OR REPLACE INTO records VALUES (?, ?)";
                sql.put_bytes(put, &place, &record)
            }
            None => sql.run_for("DELETE FROM records WHERE place = ?", &place),
        }
        .map(drop)
    }

    /// A value beside the host's records.
    pub fn meta(&self, name: &str) -> Result<Option<String>, JsValue> {
        if !self.is_used()? {
            return Ok(None);
        }
        let query = "SELECT value FROM meta WHERE place = ?";
        let rows = self.sql.run_for(query, name)?.rows()?;
        Ok(rows.first().and_then(|row| row.value().as_string()))
    }

    /// Puts such a value.
    pub fn put_meta(&self, name: &str, value: &str) -> Result<(), JsValue> {
        self.create()?;
        let put = "INSERT OR REPLACE INTO meta VALUES (?, ?)";
        self.sql.put_text(put, name, value).map(drop)
    }

    /// Forgets all who wait.
    pub fn delete_waiters(&self) -> Result<(), JsValue> {
        if self.is_used()? {
            self.sql
                .run("DELETE FROM records WHERE place LIKE 'waiter/%'")?;
        }
        Ok(())
    }

    /// Reads something. The runtime fails this for an object that has been replaced by another.
    pub fn touch(&self) -> Result<(), JsValue> {
        if self.is_used()? {
            self.check_schema()?;
        }
        Ok(())
    }

    fn create(&self) -> Result<(), JsValue> {
        if !self.is_used()? {
            self.sql.run(CREATE)?;
            self.has_tables.set(true);
        }
        Ok(())
    }

    fn check_schema(&self) -> Result<(), JsValue> {
        if self.meta("schema")?.as_deref() == Some(SCHEMA) {
            Ok(())
        } else {
            Err(JsError::new("the object's tables are of another version").into())
        }
    }
}
