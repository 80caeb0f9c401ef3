import { fileURLToPath } from "node:url";
import { install } from "../support/install.ts";

const DRIVERS = fileURLToPath(new URL("./drivers", import.meta.url));

/** What is used of the two database drivers, which the package's users may have, and it has not. */
export interface Drivers {
  readonly pg: {
    readonly Pool: new (
      options: object,
    ) => {
      connect(): Promise<PgConnection>;
      query(text: string, values?: unknown[]): Promise<{ rows: Record<string, string>[] }>;
      end(): Promise<void>;
    };
  };
  readonly mysql: {
    createPool(options: object): {
      getConnection(): Promise<MysqlConnection>;
      query(text: string, values?: unknown[]): Promise<[Record<string, string>[], unknown]>;
      end(): Promise<void>;
    };
  };
}

export interface PgConnection {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(): void;
}

export interface MysqlConnection {
  query(text: string, values?: unknown[]): Promise<unknown>;
  release(): void;
}

/** The drivers, installed as their lock file says unless that has been done. */
export async function drivers(): Promise<Drivers> {
  await install(DRIVERS);
  const load = (file: string) =>
    import(new URL(`./drivers/node_modules/${file}`, import.meta.url).href);
  const [pg, mysql] = await Promise.all([load("pg/lib/index.js"), load("mysql2/promise.js")]);
  return { pg: pg.default, mysql: mysql.default };
}
