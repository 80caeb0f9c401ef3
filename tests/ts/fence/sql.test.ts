import assert from "node:assert/strict";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { test } from "node:test";
import {
  FENCE_SCHEMA,
  type Fenced,
  mysqlFence,
  postgresFence,
  type RunSql,
  sqliteFence,
} from "leasehold/fence";
import { guards } from "./contract.ts";
import { mariadb, postgres } from "./databases.ts";
import { drivers } from "./install.ts";

guards("node:sqlite", async () => {
  const database = new DatabaseSync(":memory:");
  const guard = sqliteFence(database);
  database.exec("CREATE TABLE line (id INTEGER PRIMARY KEY, name TEXT, slot INTEGER, line TEXT)");
  return {
    advance: async (lease) => guard.advance(lease),
    write: async (lease, line) => {
      database.exec("BEGIN IMMEDIATE");
      try {
        guard.advance(lease);
        database
          .prepare("INSERT INTO line (name, slot, line) VALUES (?, ?, ?)")
          .run(lease.key, lease.slot ?? 0, line);
        database.exec("COMMIT");
      } catch (error) {
        database.exec("ROLLBACK");
        throw error;
      }
    },
    lines: async ({ key, slot = 0 }) =>
      database
        .prepare("SELECT line FROM line WHERE name = ? AND slot = ? ORDER BY id")
        .all(key, slot)
        .map(({ line }) => String(line)),
    close: async () => database.close(),
  };
});

/** A connection of a pool, as both drivers have it. */
interface Connection {
  query: RunSql;
  release(): void;
}

/** The lines of a pool's database, written in transactions. */
function sqlStore(
  pool: () => Promise<Connection>,
  guard: typeof postgresFence,
  insert: string,
  lines: (lease: Fenced) => Promise<string[]>,
  close: () => Promise<void>,
) {
  const transaction = async (work: (connection: Connection) => Promise<void>) => {
    const connection = await pool();
    try {
      await connection.query("BEGIN", []);
      await work(connection);
      await connection.query("COMMIT", []);
    } catch (error) {
      await connection.query("ROLLBACK", []);
      throw error;
    } finally {
      connection.release();
    }
  };
  return {
    advance: (lease: Fenced) =>
      transaction((tx) => guard((text, values) => tx.query(text, values)).advance(lease)),
    write: (lease: Fenced, line: string) =>
      transaction(async (tx) => {
        await guard((text, values) => tx.query(text, values)).advance(lease);
        // Time for others to come in between, if the guard let them.
        await new Promise((resolve) => setImmediate(resolve));
        await tx.query(insert, [lease.key, lease.slot ?? 0, line]);
      }),
    lines,
    close,
  };
}

guards("Postgres", async () => {
  const [{ pg }, server] = await Promise.all([drivers(), postgres()]);
  const pool = new pg.Pool({
    host: server.folder,
    user: "postgres",
    database: "postgres",
    max: 24,
  });
  await pool.query(FENCE_SCHEMA.postgres);
  await pool.query("CREATE TABLE line (id serial, name text, slot integer, line text)");
  return sqlStore(
    () => pool.connect(),
    postgresFence,
    "INSERT INTO line (name, slot, line) VALUES ($1, $2, $3)",
    async ({ key, slot = 0 }) => {
      const select = "SELECT line FROM line WHERE name = $1 AND slot = $2 ORDER BY id";
      const { rows } = await pool.query(select, [key, slot]);
      return rows.map(({ line = "" }) => line);
    },
    async () => {
      await pool.end();
      await server[Symbol.asyncDispose]();
    },
  );
});

for (const mode of ["STRICT_TRANS_TABLES", ""]) {
  guards(`MariaDB, sql_mode '${mode}'`, async () => {
    const [{ mysql }, server] = await Promise.all([drivers(), mariadb()]);
    const socketPath = join(server.folder, "socket");
    const pool = mysql.createPool({
      socketPath,
      user: "root",
      connectionLimit: 24,
      database: "mysql",
    });
    await pool.query("SET GLOBAL sql_mode = ?", [mode]);
    await pool.query(FENCE_SCHEMA.mysql);
    await pool.query(
      "CREATE TABLE line (id int AUTO_INCREMENT PRIMARY KEY, name varbinary(512), slot int, line text) ENGINE=InnoDB",
    );
    return sqlStore(
      async () => {
        const connection = await pool.getConnection();
        await connection.query("SET SESSION sql_mode = ?", [mode]);
        return connection;
      },
      mysqlFence,
      "INSERT INTO line (name, slot, line) VALUES (?, ?, ?)",
      async ({ key, slot = 0 }) => {
        const select = "SELECT line FROM line WHERE name = ? AND slot = ? ORDER BY id";
        const [rows] = await pool.query(select, [key, slot]);
        return rows.map(({ line = "" }) => line);
      },
      async () => {
        await pool.end();
        await server[Symbol.asyncDispose]();
      },
    );
  });
}

test("a driver's error is found behind a wrapper's, and any other is passed on", async () => {
  const lease = { key: "k", fence: 1n };
  const failing = (error: unknown) => postgresFence(() => Promise.reject(error)).advance(lease);
  const refusal = Object.assign(new Error("null value"), { code: "23502" });
  await assert.rejects(failing(new Error("query failed", { cause: refusal })), {
    reason: "fenced-out",
  });
  const other = Object.assign(new Error("could not serialize access"), { code: "40001" });
  await assert.rejects(failing(other), (error) => error === other);
});
