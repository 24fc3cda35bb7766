-- Define the requests of wrk: wrk -s load.lua URL -- KIND TOKEN PATH NUMBER [LOCATION]
-- KIND is "list" (read PATH), "one" (read 200 ids, evenly distributed from 1 to NUMBER), "create" (create customers with
-- numbers from NUMBER) or "adjust" (add one unit of the inventory item NUMBER at LOCATION).

local threads = 0

function setup(thread)
  thread:set("place", threads)
  threads = threads + 1
end

local function body(number)
  return string.format(
    '{"customer":{"first_name":"Grace","last_name":"Hopper","email":"grace.hopper.%d@bench.example",'
      .. '"phone":"+467%08d","verified_email":true,"note":"Met at the fair; asked for the catalogue",'
      .. '"tags":"vip, wholesale","addresses":[{"company":"Northwind Traders","address1":"Storgatan 1",'
      .. '"city":"Lund","country":"Sweden","zip":"22222"}]}}',
    number, number)
end

function init(args)
  local kind, path, number = args[1], args[3], tonumber(args[4])
  local headers = { ["X-Platform-Access-Token"] = args[2], ["Content-Type"] = "application/json" }
  if kind == "create" then
    local last = number + place * 500000
    request = function()
      last = last + 1
      return wrk.format("POST", path, headers, body(last))
    end
    return
  end
  local requests, turn = {}, 0
  if kind == "adjust" then
    requests[1] = wrk.format("POST", path, headers, string.format(
      '{"inventory_item_id":%d,"location_id":%s,"available_adjustment":1}', number, args[5]))
  end
  if kind == "one" then
    for index = 1, 200 do
      requests[index] = wrk.format("GET", string.gsub(path, "ID", math.floor(number * index / 200)), headers)
    end
  elseif kind == "list" then
    requests[1] = wrk.format("GET", path, headers)
  end
  local count = #requests
  request = function()
    turn = turn % count + 1
    return requests[turn]
  end
end

function done(summary, latency)
  local errors = summary.errors
  io.write(string.format(
    '\nRESULT {"requests":%d,"microseconds":%d,"bytes":%d,"p50":%d,"p99":%d,"max":%d,"refused":%d,"broken":%d}\n',
    summary.requests, summary.duration, summary.bytes, latency:percentile(50), latency:percentile(99), latency.max,
    errors.status, errors.connect + errors.read + errors.write + errors.timeout))
end
