-- perfetto.sql - questions that people ask of a vramtrace timeline, for Perfetto's SQL tab or `trace_processor_shell -q`.
-- Values of counters are bytes. Times are nanoseconds; `dur` of an allocation or a free is 0.

-- name: peaks. The greatest value of each counter.
SELECT device.name AS device, row.name AS counter, CAST(max(counter.value) AS INT) AS peak_bytes
FROM counter
JOIN track AS row ON row.id = counter.track_id
JOIN track AS device ON device.id = row.parent_id
GROUP BY counter.track_id
ORDER BY device.name, row.name;

-- name: peak_time. When each device had most allocated.
WITH peak AS (SELECT track_id, max(value) AS value FROM counter GROUP BY track_id)
SELECT device.name AS device, min(counter.ts) AS ts, CAST(peak.value AS INT) AS bytes
FROM peak
JOIN counter ON counter.track_id = peak.track_id AND counter.value = peak.value
JOIN track AS row ON row.id = peak.track_id AND row.name = 'Allocated'
JOIN track AS device ON device.id = row.parent_id
GROUP BY peak.track_id;

-- name: held_by_stack. Who holds memory at the last heap profile of each heap: bytes by the innermost frame.
SELECT allocation.heap_name AS heap, frame.name AS frame, sum(allocation.size) AS bytes, sum(allocation.count) AS blocks
FROM heap_profile_allocation AS allocation
JOIN stack_profile_callsite AS site ON site.id = allocation.callsite_id
JOIN stack_profile_frame AS frame ON frame.id = site.frame_id
GROUP BY allocation.heap_name, allocation.upid, frame.name
HAVING bytes > 0
ORDER BY bytes DESC;

-- name: steps. What each step did.
SELECT slice.name AS step, slice.ts AS ts, slice.dur AS dur,
  extract_arg(slice.arg_set_id, 'debug.peak_allocated_bytes') AS peak_bytes,
  extract_arg(slice.arg_set_id, 'debug.allocated_bytes_at_its_end') AS bytes_at_its_end
FROM slice
JOIN track ON track.id = slice.track_id
WHERE track.name = 'Steps'
ORDER BY slice.ts;

-- name: largest_blocks. The blocks that held most: who, what for, how long.
SELECT slice.name AS block, slice.ts AS ts, slice.dur AS dur, extract_arg(slice.arg_set_id, 'debug.bytes') AS bytes,
  extract_arg(slice.arg_set_id, 'debug.category (estimated)') AS category
FROM slice
JOIN track AS lane ON lane.id = slice.track_id
JOIN track AS rows ON rows.id = lane.parent_id AND rows.name = 'Largest blocks'
WHERE slice.depth = 0
ORDER BY bytes * slice.dur DESC;

-- name: categories_at_peak. What the memory was for when most was allocated (estimated).
WITH peak AS (
  SELECT row.parent_id AS device, counter.ts AS ts, max(counter.value)
  FROM counter
  JOIN track AS row ON row.id = counter.track_id AND row.name = 'Allocated'
  GROUP BY row.parent_id
)
SELECT category.name AS category, CAST((
  SELECT value FROM counter WHERE counter.track_id = category.id AND counter.ts <= peak.ts ORDER BY counter.ts DESC LIMIT 1
) AS INT) AS bytes
FROM peak
JOIN track AS rows ON rows.parent_id = peak.device AND rows.name = 'By category'
JOIN track AS category ON category.parent_id = rows.id
WHERE bytes > 0
ORDER BY bytes DESC;

-- name: allocations_by_op. Which ops allocate most often, and most (bytes need --detail full).
SELECT slice.name AS op, count(*) AS allocations, sum(extract_arg(slice.arg_set_id, 'debug.bytes')) AS bytes
FROM slice
JOIN track ON track.id = slice.track_id
WHERE track.name = 'Allocations'
GROUP BY slice.name
ORDER BY allocations DESC;

-- name: out_of_memory. Each error with its figures.
SELECT slice.ts AS ts, extract_arg(slice.arg_set_id, 'debug.requested_bytes') AS requested_bytes,
  extract_arg(slice.arg_set_id, 'debug.allocated_bytes') AS allocated_bytes,
  extract_arg(slice.arg_set_id, 'debug.reserved_bytes') AS reserved_bytes
FROM slice
WHERE slice.name = 'out of memory'
ORDER BY slice.ts;

-- name: kernels. Where the time of the GPU went.
SELECT name AS kernel, count(*) AS times, sum(dur) AS dur
FROM gpu_slice
GROUP BY name
ORDER BY dur DESC;

-- name: lost. What the recording could not write down.
SELECT extract_arg(slice.arg_set_id, 'debug.why') AS why, extract_arg(slice.arg_set_id, 'debug.count') AS count
FROM slice
WHERE slice.name = 'events lost';
