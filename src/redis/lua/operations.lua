local operations = {}

function operations.acquire(r, op, lease, holder, ttl, limit, extends, steals, finger, waits)
  ttl, limit = tonumber(ttl), tonumber(limit)
  settle(r)
  local seen = outcome(r, op)
  if seen then return seen end
  local clash = clashes(r.done, finger)
  for _, line in ipairs(finger ~= '~' and r.grants or {}) do
    clash = clash or clashes(parse_grant(line), finger)
  end
  if clash then return { 'fingerprint' } end
  local place = row(r.queue, PLACE, 1, op)
  if r.done then
    if place then
      leave(r, place)
      changed(r, now)
      save(r)
    end
    return done(r)
  end
  local own, i = opened(r, lease, '~')
  if own and extends == '1' then
    extend(r, i, own, ttl)
    return granted(r, own, '0')
  end
  if steals == '1' then
    while #r.grants > 0 do end_grant(r, 1, 'v', op) end
  end
  local first = place == 1 or r.queue == ''
  if steals == '1' or first and not own and admits(r, limit) then
    if place then
      leave(r, place)
      ttl = math.min(ttl, OFFER)
    end
    return grant(r, { lease = lease, op = op, holder = holder, limit = limit, finger = finger,
      entries = 0 }, ttl)
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
  for i, line in ipairs(r.grants) do
    if string.find(line, op, BORN, true) == BORN then
      end_grant(r, i, 'c', op)
      changed(r, now)
      break
    end
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
  local kept, own, total = {}, 0, 0
  local function keep(line)
    kept[#kept + 1] = line
    total = total + line.size
    if line.slot == grant.slot then own = own + 1 end
  end
  for _, line in ipairs(lines) do
    if line.slot ~= grant.slot or line.name ~= name then keep(line) end
  end
  if value ~= '~' then
    keep({ slot = grant.slot, size = tonumber(size), name = name, value = value })
    if own > tonumber(most) then return { 'entries-full' } end
    if total > tonumber(room) then return { 'key-too-large' } end
  end
  grant.seen, grant.entries = tonumber(seen), own
  r.grants[i] = grant_line(grant)
  keep_entries(r, kept)
  changed(r, now)
  save(r)
  return { 'entered' }
end

function operations.finish(r, op, lease, fence, result, keep)
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  if ended_by(r, op, 'f') > 0 then return { 'finished' } end
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
  if ended_by(r, op, 'r') > 0 then return { 'released' } end
  -- Who neither waits nor watches needs no time: it would be one more command.
  local timeless = r.queue == '' and r.watched <= r.at
  now = r.at
  if not timeless then settle(r) end
  local grant, i = opened(r, lease, fence)
  if not grant then return not_holder(r, lease, fence) end
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
  local count = ended_by(r, op, 'v')
  if count > 0 or r.absent then return { 'revoked', number(count) } end
  settle(r)
  for i = #r.grants, 1, -1 do
    if fence == '~' or parse_grant(r.grants[i]).fence == fence then
      end_grant(r, i, 'v', op)
      count = count + 1
    end
  end
  if r.done and (fence == '~' or r.done.fence == fence) then
    remember(r, 'v', NOBODY, NOTHING, r.done.fence, op, stamp(now))
    r.done = nil
    count = count + 1
  end
  if count > 0 then
    changed(r, now)
    save(r)
  end
  return { 'revoked', number(count) }
end

function operations.transfer(r, op, lease, fence, holder, successor, ttl)
  if r.absent then return not_holder(r, lease, fence) end
  settle(r)
  local seen = outcome(r, op)
  if seen then return seen end
  local old, i = opened(r, lease, fence)
  if not old then return not_holder(r, lease, fence) end
  end_grant(r, i, 't', op)
  -- The entries stay, under the slot.
  r.ended[#r.ended] = nil
  return grant(r, { lease = successor, op = op, holder = holder, limit = old.limit,
    finger = old.finger, entries = old.entries }, tonumber(ttl), old.slot)
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
