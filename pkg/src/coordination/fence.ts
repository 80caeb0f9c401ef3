/**
 * Resources that refuse a stale holder: each store keeps the highest fence it has seen per key and
 * slot, and fails what comes with a lower one.
 *
 * @module
 */
export type { Fenced, FenceGuard, SyncFenceGuard } from "./fence/fenced.js";
export {
  FencedObject,
  type ObjectStore,
  type R2Like,
  r2Objects,
  type S3Options,
  type StoredObject,
  s3Objects,
} from "./fence/object.js";
export { type RedisGuard, redisFence } from "./fence/redis.js";
export { FENCE_SCHEMA } from "./fence/sql.js";
export {
  type D1Guard,
  type D1Like,
  type D1StatementLike,
  d1Fence,
  mysqlFence,
  postgresFence,
  type RunSql,
} from "./fence/sql-async.js";
export {
  type DurableObjectStorageLike,
  durableObjectFence,
  type SqliteLike,
  sqliteFence,
} from "./fence/sql-sync.js";
