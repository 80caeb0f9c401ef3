-- What an acquire that does not wait yet gets of a key that is done or has its lease id already.
local function settled(r, op, lease, ttl, limit, extends, finger)
  if r.done then return clashes(r.done, finger) and REFUSALS.input or done(r) end
  for _, line in ipairs(finger ~= '~' and r.grants or {}) do
    if clashes(parse_grant(line), finger) then return REFUSALS.input end
  end
  local own, i = opened(r, lease)
  if not own then return nil end
  if not extends then return held(r, limit) end
  extend(r, i, own, ttl, op)
  return granted(r, own)
end

local function show(r)
  local shown, answer = state(r)
  return answer or respond('state', 'state', shown)
end

if not request then
  local states = {}
  for i = 1, #KEYS, 2 do
    document, record = KEYS[i], KEYS[i + 1]
    local r = read()
    if r and not r.absent then settle(r) end
    -- A document that is not ours, or was gone before it could be read, is not of the list, nor is
    -- one that shows nothing.
    if r and (#r.grants > 0 or r.queue ~= '' or r.done) then states[#states + 1] = state(r) end
  end
  return respond('listed', 'states', '[' .. table.concat(states, ',') .. ']')
end

local r, answer = read()
if answer then return answer end

-- Each operation in its place, and none as a function: to make one takes longer than to run most.
local verb, lease, fence = request.operation, request.lease, decimal(request.fence)

if verb == 'acquire' then
  local ttl, limit, steals = request.ttlMs * 1000, request.limit or 1, request.steal
  local finger = request.fingerprint and word(request.fingerprint) or '~'
  settle(r)
  local place = row(r.queue, PLACE, 1, op)
  local answer = outcome(r, op, true)
    or not place and settled(r, op, lease, ttl, limit, request['repeat'], finger)
  if answer then return answer end
  if steals then
    while #r.grants > 0 do end_grant(r, 1, 'v', op) end
  end
  local is_first = steals or place == 1 or r.queue == ''
  if is_first and admits(r, limit) and not opened(r, lease) then
    local offered = r.offers > now
    if place then leave(r, place) end
    return grant(r, { lease = lease, op = op, holder = word(request.holder), limit = limit, finger = finger,
      entries = 0, made = offered and '1' or '0' }, offered and math.min(ttl, OFFER) or ttl)
  end
  if waits == '' then
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
    if present(r) >= WAITERS then return REFUSALS.waiters end
    place = #r.queue + 1
    r.queue = r.queue .. op .. stamp(now + GRACE) .. string.format('%04.0f', limit)
    changed(r, now)
  end
  save(r)
  return respond('queued', 'waiters', (place - 1) / PLACE, 'retryAfterMs', millis_up(wait_of(r, limit)))
end

if verb == 'cancel' then
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
  return respond('cancelled')
end

if verb == 'entry' then
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
  if request.number <= grant.seen then return about('entered') end
  local name, value = word(request.name), request.value and word(request.value)
  local lines, answer = entries()
  if answer then return answer end
  -- Of a grant that has ended, here or with its document, lines may be left.
  local live = {}
  for _, other in ipairs(r.grants) do live[slot_of(other)] = parse_grant(other).entries > 0 end
  local kept, own, total, same = {}, 0, 0, not value
  local function keep(line, at)
    table.insert(kept, at or #kept + 1, line)
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
  if value then
    local at = 1
    while kept[at] and unword(kept[at].name) < request.name do at = at + 1 end
    keep({ slot = grant.slot, size = #request.name + #request.value, name = name, value = value }, at)
    if own > ENTRIES then return REFUSALS.entries end
    if total > ROOM then return REFUSALS.room end
  end
  grant.seen, grant.entries = request.number, own
  r.grants[i] = grant_line(grant)
  if not same then
    keep_entries(r, kept)
    changed(r, now)
  end
  save(r)
  return about('entered')
end

if verb == 'finish' then
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  if ended_by(r, op, 'f') then return about('finished') end
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
  if tonumber(grant.limit) ~= 1 then return REFUSALS.shared end
  end_grant(r, i, 'f', op)
  r.done = { fence = grant.fence, since = now, till = now + request.keepMs * 1000,
    finger = grant.finger, result = word(request.result) }
  local queue = r.queue
  r.queue = ''
  changed(r, now)
  save(r)
  for j = 1, #queue, PLACE do redis.pcall('PUBLISH', WAKE .. field(queue, j, 1, TILL), '1') end
  return about('finished')
end

if verb == 'inspect' then
  if not r.absent then settle(r) end
  return show(r)
end

if verb == 'release' then
  if ended_by(r, op, 'r') then return about('released') end
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
  return about('released')
end

-- Without a ttl it only asks.
if verb == 'renew' or verb == 'verify' then
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
  if request.ttlMs then extend(r, i, grant, request.ttlMs * 1000) end
  return about('renewed', told(r, grant))
end

if verb == 'revoke' then
  settle(r)
  local count, seen = 0, row(r.past, PAST, OP, op)
  if seen then return respond('revoked', 'revoked', fence_of(r.past, seen) or 0) end
  for i = #r.grants, 1, -1 do
    if not fence or parse_grant(r.grants[i]).fence == fence then
      end_grant(r, i, 'v', op)
      count = count + 1
    end
  end
  if r.done and (not fence or r.done.fence == fence) then
    r.done = nil
    count = count + 1
  end
  -- How many is kept where others have their fence.
  remember(r, 'v', op, NOTHING, number(count), NOBODY, stamp(now))
  if count > 0 then changed(r, now) end
  save(r)
  return respond('revoked', 'revoked', count)
end

if verb == 'transfer' then
  local successor = request.toLease
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local seen = outcome(r, op)
  if seen then return seen end
  local old, i = opened(r, lease, fence)
  if not old then return not_holder(r, lease, fence) end
  if successor ~= lease and opened(r, successor) then return REFUSALS.successor end
  end_grant(r, i, 't', op)
  -- The entries stay, under the slot.
  r.ended[#r.ended] = nil
  return grant(r, { lease = successor, op = op, holder = word(request.toHolder), limit = old.limit,
    finger = old.finger, entries = old.entries, made = '0' }, request.ttlMs * 1000, old.slot)
end

if verb == 'watch' then
  local after = decimal(request.after)
  if not r.absent then settle(r) end
  if waits == '' or number(r.revision) ~= after then return show(r) end
  if r.absent then return respond('queued', 'waiters', 0) end
  if r.watched < now + 5 * GRACE then
    r.watched = now + 10 * GRACE
    save(r)
  end
  local due = r.done and r.done.till
  for _, line in ipairs(r.grants) do due = math.min(due or expiry(line), expiry(line)) end
  return respond('queued', 'waiters', 0, 'retryAfterMs', due and millis_up(due - now))
end
