local operations = {}

-- What an acquire that does not wait yet gets of a key that is done or has its lease id already.
local function settled(r, op, lease, ttl, limit, extends, finger)
  if r.done then return clashes(r.done, finger) and { 'fingerprint' } or done(r) end
  for _, line in ipairs(finger ~= '~' and r.grants or {}) do
    if clashes(parse_grant(line), finger) then return { 'fingerprint' } end
  end
  local own, i = opened(r, lease, '~')
  if not own then return nil end
  if extends == '0' then return held(r, limit) end
  extend(r, i, own, ttl, op)
  return granted(r, own, '0')
end

function operations.acquire(r, op, lease, holder, ttl, limit, extends, steals, finger, waits)
  ttl, limit = tonumber(ttl), tonumber(limit)
  settle(r)
  local place = row(r.queue, PLACE, 1, op)
  local answer = outcome(r, op, true)
    or not place and settled(r, op, lease, ttl, limit, extends, finger)
  if answer then return answer end
  if steals == '1' then
    while #r.grants > 0 do end_grant(r, 1, 'v', op) end
  end
  local is_first = steals == '1' or place == 1 or r.queue == ''
  if is_first and admits(r, limit) and not opened(r, lease, '~') then
    local offered = r.offers > now
    if place then leave(r, place) end
    return grant(r, { lease = lease, op = op, holder = holder, limit = limit, finger = finger,
      entries = 0, made = offered and '1' or '0' }, offered and math.min(ttl, OFFER) or ttl)
  end
  if waits == '0' then
    if place then
      leave(r, place)
      changed(r, now)
      save(r)
    end
    return held(r, limit)
  end
  if place then
    r.queue = string.sub(r.queue, 1, place + TILL - 2) .. stamp(now + GRACE)
      .. string.sub(r.queue, place + LIMIT - 1)
  else
    if present(r) >= WAITERS then return { 'too-many-waiters' } end
    place = #r.queue + 1
    r.queue = r.queue .. op .. stamp(now + GRACE) .. string.format('%04.0f', limit)
    changed(r, now)
  end
  save(r)
  return { 'queued', number((place - 1) / PLACE), number(wait_of(r, limit)) }
end

function operations.cancel(r, op)
  settle(r)
  -- First of all: the key must not go to the very op that is cancelled.
  local place = row(r.queue, PLACE, 1, op)
  if place then
    leave(r, place)
    changed(r, now)
  end
  local i = won_by(r, op)
  if i then
    end_grant(r, i, 'c', op)
    changed(r, now)
  end
  if not row(r.past, PAST, OP, op) then
    remember(r, 'c', op, NOTHING, '~', NOBODY, stamp(now))
  end
  save(r)
  return { 'cancelled' }
end

function operations.entry(r, _, lease, fence, name, value, size, seen, most, room)
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
  if tonumber(seen) <= grant.seen then return { 'entered' } end
  local lines, answer = entries()
  if answer then return answer end
  -- Of a grant that has ended, here or with its document, lines may be left.
  local live = {}
  for _, other in ipairs(r.grants) do live[slot_of(other)] = parse_grant(other).entries > 0 end
  local kept, own, total, same = {}, 0, 0, value == '~'
  local function keep(line)
    kept[#kept + 1] = line
    total = total + line.size
    if line.slot == grant.slot then own = own + 1 end
  end
  for _, line in ipairs(lines) do
    if live[line.slot] then
      if line.slot == grant.slot and line.name == name then
        same = line.value == value
      else
        keep(line)
      end
    end
  end
  if value ~= '~' then
    keep({ slot = grant.slot, size = tonumber(size), name = name, value = value })
    if own > tonumber(most) then return { 'entries-full' } end
    if total > tonumber(room) then return { 'key-too-large' } end
  end
  grant.seen, grant.entries = tonumber(seen), own
  r.grants[i] = grant_line(grant)
  if not same then
    keep_entries(r, kept)
    changed(r, now)
  end
  save(r)
  return { 'entered' }
end

function operations.finish(r, op, lease, fence, result, keep)
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  if ended_by(r, op, 'f') then return { 'finished' } end
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
  if tonumber(grant.limit) ~= 1 then return { 'not-exclusive' } end
  end_grant(r, i, 'f', op)
  r.done = { fence = grant.fence, since = now, till = now + tonumber(keep),
    finger = grant.finger, result = result }
  local queue = r.queue
  r.queue = ''
  changed(r, now)
  save(r)
  for j = 1, #queue, PLACE do redis.pcall('PUBLISH', WAKE .. field(queue, j, 1, TILL), '1') end
  return { 'finished' }
end

function operations.inspect(r)
  if not r.absent then settle(r) end
  local words, answer = state(r)
  return words or answer
end

function operations.release(r, op, lease, fence)
  if ended_by(r, op, 'r') then return { 'released' } end
  if r.absent then return not_holder(r, lease, fence) end
  -- Where nobody waits or watches the time would be one more command, and is of no account.
  local grant, i = opened(r, lease, fence)
  local timeless = grant and r.queue == '' and r.watched <= r.at
  now = r.at
  if not timeless then
    settle(r)
    grant, i = opened(r, lease, fence)
  end
  if not grant then return not_holder(r, lease, fence) end
  -- Somebody may have seen terms end meanwhile, and counted a revision for it.
  for _, line in ipairs(timeless and r.grants or {}) do changed(r, expiry(line)) end
  end_grant(r, i, 'r', op, timeless and SOMETIME)
  changed(r, now)
  save(r, timeless)
  return { 'released' }
end

-- Without a ttl it only asks.
function operations.renew(r, _, lease, fence, ttl)
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
  if ttl then extend(r, i, grant, tonumber(ttl)) end
  return { 'renewed', number(grant.expires - now), number(grant.term), number(present(r)) }
end

operations.verify = operations.renew

function operations.revoke(r, op, fence)
  settle(r)
  local count, seen = 0, row(r.past, PAST, OP, op)
  if seen then return { 'revoked', fence_of(r.past, seen) or '0' } end
  for i = #r.grants, 1, -1 do
    if fence == '~' or parse_grant(r.grants[i]).fence == fence then
      end_grant(r, i, 'v', op)
      count = count + 1
    end
  end
  if r.done and (fence == '~' or r.done.fence == fence) then
    r.done = nil
    count = count + 1
  end
  -- How many is kept where others have their fence.
  remember(r, 'v', op, NOTHING, number(count), NOBODY, stamp(now))
  if count > 0 then changed(r, now) end
  save(r)
  return { 'revoked', number(count) }
end

function operations.transfer(r, op, lease, fence, holder, successor, ttl)
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local seen = outcome(r, op)
  if seen then return seen end
  local old, i = opened(r, lease, fence)
  if not old then return not_holder(r, lease, fence) end
  if successor ~= lease and opened(r, successor, '~') then return { 'same-lease' } end
  end_grant(r, i, 't', op)
  -- The entries stay, under the slot.
  r.ended[#r.ended] = nil
  return grant(r, { lease = successor, op = op, holder = holder, limit = old.limit,
    finger = old.finger, entries = old.entries, made = '0' }, tonumber(ttl), old.slot)
end

function operations.watch(r, _, after, waits)
  if r.absent then
    if after == '0' and waits == '1' then return { 'same', '~' } end
    return operations.inspect(r)
  end
  settle(r)
  if number(r.revision) ~= after or waits == '0' then
    local words, answer = state(r)
    return words or answer
  end
  if r.watched < now + 5 * GRACE then
    r.watched = now + 10 * GRACE
    save(r)
  end
  local due = r.done and r.done.till
  for _, line in ipairs(r.grants) do due = math.min(due or expiry(line), expiry(line)) end
  return { 'same', due and number(due - now) or '~' }
end

if ARGV[10] == 'list' then
  local all = { 'listed' }
  for i = 1, #KEYS, 2 do
    document, record = KEYS[i], KEYS[i + 1]
    local r = read()
    if r and not r.absent then settle(r) end
    -- A document that is not ours, or was gone before it could be read, is not of the list.
    for _, word in ipairs(r and not r.absent and state(r) or { '~' }) do all[#all + 1] = word end
  end
  return all
end

local r, answer = read()
return answer or operations[ARGV[10]](r, unpack(ARGV, 11))
