//! The tables, and the one statement that each change to them takes.

use std::cell::Cell;

use js_sys::Array;
use leasehold::fence::Fence;
use leasehold::host::{Mutation, Snapshot};
use wasm_bindgen::prelude::*;
use worker_sys::{SqlStorage, SqlStorageCursor};

use crate::row::{self, Unreadable};

/// The version of the tables below.
const SCHEMA: &str = "1";

const CREATE: &str = "
CREATE TABLE IF NOT EXISTS meta (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS keys (
  key TEXT PRIMARY KEY, fence TEXT NOT NULL, written INTEGER NOT NULL,
  lease TEXT, op TEXT, holder TEXT, term INTEGER, expires INTEGER, past TEXT NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS waiters (
  number INTEGER PRIMARY KEY, key TEXT NOT NULL, op TEXT NOT NULL,
  lease TEXT NOT NULL, holder TEXT NOT NULL, ttl INTEGER NOT NULL
);
INSERT INTO meta VALUES ('schema', '1') ON CONFLICT DO NOTHING;
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
            let tables = self.rows(tables, |row| Ok(row.get(0)))?;
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
        let floor = self.rows(floor, |row| row::fence(row, 0))?;
        Ok(Snapshot {
            floor: floor.into_iter().next().unwrap_or(Fence::NONE),
            keys: self.rows(
                &["SELECT ", row::KEY_COLUMNS, " FROM keys"].concat(),
                row::key_record,
            )?,
            waiters: self.rows(
                &["SELECT ", row::WAITER_COLUMNS, " FROM waiters"].concat(),
                row::waiter_record,
            )?,
        })
    }

    /// Carries out one change.
    pub fn apply(&self, mutation: Mutation) -> Result<(), JsValue> {
        self.create()?;
        match mutation {
            Mutation::DeleteKey(key) => {
                self.exec("DELETE FROM keys WHERE key = ?", [key.as_str().into()])
            }
            Mutation::DeleteWaiter { number, .. } => self.exec(
                "DELETE FROM waiters WHERE number = ?",
                [(number as f64).into()],
            ),
            Mutation::PutFloor(floor) => self.exec(
                "INSERT OR REPLACE INTO meta VALUES ('floor', ?)",
                [row::fence_value(floor)],
            ),
            Mutation::PutKey(record) => self.exec(
                "INSERT OR REPLACE INTO keys VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
                row::key_values(&record),
            ),
            Mutation::PutWaiter(record) => self.exec(
                "INSERT OR REPLACE INTO waiters VALUES (?, ?, ?, ?, ?, ?)",
                row::waiter_values(&record),
            ),
        }
        .map(drop)
    }

    /// A value beside the host's records.
    pub fn meta(&self, name: &str) -> Result<Option<String>, JsValue> {
        if !self.is_used()? {
            return Ok(None);
        }
        let query = "SELECT value FROM meta WHERE name = ?";
        let rows = self.exec(query, [name.into()])?.raw();
        let values = rows.into_iter().map(|row| {
            let row: Array = row?.unchecked_into();
            Ok(row.get(0).as_string().unwrap_or_default())
        });
        Ok(values.collect::<Result<Vec<_>, JsValue>>()?.pop())
    }

    /// Puts such a value.
    pub fn put_meta(&self, name: &str, value: &str) -> Result<(), JsValue> {
        self.create()?;
        let query = "INSERT OR REPLACE INTO meta VALUES (?, ?)";
        self.exec(query, [name.into(), value.into()]).map(drop)
    }

    /// Forgets all who wait.
    pub fn delete_waiters(&self) -> Result<(), JsValue> {
        if self.is_used()? {
            self.exec("DELETE FROM waiters", [])?;
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
            self.exec(CREATE, [])?;
            self.has_tables.set(true);
        }
        Ok(())
    }

    fn check_schema(&self) -> Result<(), JsValue> {
        let stored = "SELECT value FROM meta WHERE name = 'schema'";
        let stored = self.rows(stored, |row| Ok(row.get(0)))?;
        match stored.first() {
            Some(version) if *version == SCHEMA => Ok(()),
            _ => Err(JsError::new("the object's tables are of another version").into()),
        }
    }

    fn rows<T>(
        &self,
        query: &str,
        read: impl Fn(&Array) -> Result<T, Unreadable>,
    ) -> Result<Vec<T>, JsValue> {
        let rows = self.exec(query, [])?.raw();
        rows.into_iter()
            .map(|row| read(row?.unchecked_ref()).map_err(unreadable))
            .collect()
    }

    fn exec<const N: usize>(
        &self,
        query: &str,
        values: [JsValue; N],
    ) -> Result<SqlStorageCursor, JsValue> {
        self.sql.exec(query, values.iter().collect())
    }
}

fn unreadable(Unreadable(column): Unreadable) -> JsValue {
    JsError::new(&["stored value is unreadable: ", column].concat()).into()
}
