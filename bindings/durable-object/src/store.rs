//! The tables, and the one statement that each change to them takes.

use std::cell::Cell;

use js_sys::Array;
use leasehold::host::{Mutation, Snapshot};
use wasm_bindgen::prelude::*;
use worker_sys::{SqlStorage, SqlStorageCursor};

use crate::row::{self, Row, Unreadable, Values};

/// The version of the tables below.
const SCHEMA: &str = "2";

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
  key TEXT PRIMARY KEY, fence TEXT NOT NULL, revision TEXT NOT NULL, written INTEGER NOT NULL,
  past BLOB NOT NULL, cautious_until INTEGER NOT NULL,
  done_fence TEXT, done_result TEXT, done_since INTEGER, done_until INTEGER, done_fingerprint TEXT,
  grant_fence TEXT, lease TEXT, op TEXT, holder TEXT, most INTEGER, since INTEGER, term INTEGER,
  expires INTEGER, offer TEXT, fingerprint TEXT, entered INTEGER
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS grants (
  key TEXT NOT NULL, slot INTEGER NOT NULL,
  grant_fence TEXT NOT NULL, lease TEXT NOT NULL, op TEXT NOT NULL, holder TEXT NOT NULL,
  most INTEGER NOT NULL, since INTEGER NOT NULL, term INTEGER NOT NULL, expires INTEGER NOT NULL,
  offer TEXT NOT NULL, fingerprint TEXT, entered INTEGER NOT NULL, PRIMARY KEY (key, slot)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS entries (
  key TEXT NOT NULL, slot INTEGER NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL,
  PRIMARY KEY (key, slot, name)
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waiters (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, op TEXT NOT NULL, lease TEXT NOT NULL,
  holder TEXT NOT NULL, ttl INTEGER NOT NULL, most INTEGER NOT NULL, fingerprint TEXT
);
INSERT INTO meta VALUES ('schema', '2') ON CONFLICT DO NOTHING;
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
            let tables = "SELECT name FROM sqlite_master WHERE name = 'meta'";
            let tables = self.rows(tables, |row| Ok(row.0.get(0)))?;
            self.has_tables.set(!tables.is_empty());
        }
        Ok(self.has_tables.get())
    }

    /// Everything stored.
    pub fn load(&self) -> Result<Snapshot, JsValue> {
        if !self.is_used()? {
            return Ok(Snapshot::default());
        }
        self.check_schema()?;
        let floor = "SELECT value FROM meta WHERE name = 'floor'";
        let floor = self.rows(floor, row::floor)?;
        Ok(Snapshot {
            floor: floor.into_iter().next().unwrap_or_default(),
            keys: self.table("keys", row::KEY_COLUMNS, row::key_record)?,
            grants: self.table("grants", row::GRANT_COLUMNS, row::grant_record)?,
            entries: self.table("entries", row::ENTRY_COLUMNS, row::entry_record)?,
            waiters: self.table("waiters", row::WAITER_COLUMNS, row::waiter_record)?,
        })
    }

    fn table<T>(
        &self,
        table: &str,
        columns: &str,
        read: impl Fn(&Row) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, JsValue> {
        self.rows(&["SELECT ", columns, " FROM ", table].concat(), read)
    }

    /// Carries out one change.
    pub fn apply(&self, mutation: Mutation) -> Result<(), JsValue> {
        self.create()?;
        match mutation {
            Mutation::DeleteEntries { key, slot } => self.exec(
                "DELETE FROM entries WHERE key = ? AND slot = ?",
                Values::default().text(key.as_str()).number(slot.into()),
            ),
            Mutation::DeleteEntry { key, slot, name } => self.exec(
                "DELETE FROM entries WHERE key = ? AND slot = ? AND name = ?",
                Values::default()
                    .text(key.as_str())
                    .number(slot.into())
                    .text(name.as_str()),
            ),
            Mutation::DeleteGrant { key, slot } => self.exec(
                "DELETE FROM grants WHERE key = ? AND slot = ?",
                Values::default().text(key.as_str()).number(slot.into()),
            ),
            Mutation::DeleteKey(key) => self.exec(
                "DELETE FROM keys WHERE key = ?",
                Values::default().text(key.as_str()),
            ),
            Mutation::DeleteWaiter { number, .. } => self.exec(
                "DELETE FROM waiters WHERE number = ?",
                Values::default().number(number),
            ),
            Mutation::PutEntry(entry) => self.put("entries", row::entry_values(&entry)),
            Mutation::PutFloor(floor) => self.put("meta", row::floor_values(floor)),
            Mutation::PutGrant { key, grant } => {
                self.put("grants", row::grant_values(&key, &grant))
            }
            Mutation::PutKey(record) => self.put("keys", row::key_values(&record)),
            Mutation::PutWaiter(record) => self.put("waiters", row::waiter_values(&record)),
        }
        .map(drop)
    }

    /// Puts a row, in place of any that has its key.
    fn put(&self, table: &str, values: Values) -> Result<SqlStorageCursor, JsValue> {
        let marks = vec!["?"; values.len()].join(",");
        let query = ["INSERT OR REPLACE INTO ", table, " VALUES (", &marks, ")"].concat();
        self.exec(&query, values)
    }

    /// A value beside the host's records.
    pub fn meta(&self, name: &str) -> Result<Option<String>, JsValue> {
        if !self.is_used()? {
            return Ok(None);
        }
        let query = "SELECT value FROM meta WHERE name = ?";
        let rows = self.exec(query, Values::default().text(name))?.raw();
        let values = rows.into_iter().map(|row| {
            let row: Array = row?.unchecked_into();
            Ok(row.get(0).as_string().unwrap_or_default())
        });
        Ok(values.collect::<Result<Vec<_>, JsValue>>()?.pop())
    }

    /// Puts such a value.
    pub fn put_meta(&self, name: &str, value: &str) -> Result<(), JsValue> {
        self.create()?;
        self.put("meta", Values::default().text(name).text(value))
            .map(drop)
    }

    /// Forgets all who wait.
    pub fn delete_waiters(&self) -> Result<(), JsValue> {
        if self.is_used()? {
            self.exec("DELETE FROM waiters", Values::default())?;
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
            self.exec(CREATE, Values::default())?;
            self.has_tables.set(true);
        }
        Ok(())
    }

    fn check_schema(&self) -> Result<(), JsValue> {
        let stored = "SELECT value FROM meta WHERE name = 'schema'";
        let stored = self.rows(stored, |row| Ok(row.0.get(0)))?;
        match stored.first() {
            Some(version) if *version == SCHEMA => Ok(()),
            _ => Err(JsError::new("the object's tables are of another version").into()),
        }
    }

    fn rows<T>(
        &self,
        query: &str,
        read: impl Fn(&Row) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, JsValue> {
        let rows = self.exec(query, Values::default())?.raw();
        rows.into_iter()
            .map(|row| read(&Row(row?.unchecked_into())).map_err(unreadable))
            .collect()
    }

    fn exec(&self, query: &str, values: Values) -> Result<SqlStorageCursor, JsValue> {
        self.sql.exec(query, values.into_array())
    }
}

fn unreadable(Unreadable(column): Unreadable) -> JsValue {
    JsError::new(&["stored value is unreadable: ", column].concat()).into()
}
