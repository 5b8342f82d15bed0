-- Weir's protocols for Wireshark and tshark: CLCM and echo (EtherType 0x88B5), loop probes (EtherType
-- 0x88B6) and the organisationally specific LLDP TLVs. Formats: the book's reference on CLCM, Levels and LLDP.
--
--   wireshark -X lua_script:weir.lua FILE
--   tshark -X lua_script:weir.lua -r FILE -Y weir.clcm
--
-- To install it: copy it to ~/.local/lib/wireshark/plugins.

local ETHERTYPE = 0x88b5
local SUBTYPE_CLCM = 0x5743
local SUBTYPE_ECHO = 0x5745
local PROBE_ETHERTYPE = 0x88b6
local SUBTYPE_PROBE = 0x574c
local PROBE_LENGTH = 46
local PROBE_SOURCE_BEGIN = 0x06
local CLCM_FIXED_LENGTH = 14
local HOP_LENGTH = 8
local HOPS_MAX = 64
local ECHO_LENGTH = 26

local clcm = Proto("weir.clcm", "Weir Credit Loop Control Message")
local echo = Proto("weir.echo", "Weir Round Trip Echo")
local probe = Proto("weir.probe", "Weir Loop Probe")
local lldp = Proto("weir.lldp", "Weir LLDP TLV")
local credits = Proto("weir.lldp.credits", "Weir LLDP TLV of credits")

local KINDS = { [1] = "Loop Breaker", [2] = "Deadlock Breaker" }
local PHASES = { [1] = "detection", [2] = "release" }
local ECHO_KINDS = { [1] = "request", [2] = "reply" }
local MODES = { [0] = "lossy", [1] = "pfc", [2] = "level" }

local c = {
  subtype = ProtoField.uint16("weir.clcm.subtype", "Subtype", base.HEX),
  version = ProtoField.uint8("weir.clcm.version", "Version"),
  kind = ProtoField.uint8("weir.clcm.kind", "Kind", base.DEC, KINDS),
  priority = ProtoField.uint8("weir.clcm.priority", "Priority"),
  phase = ProtoField.uint8("weir.clcm.cur_phase", "CurPhase", base.DEC, PHASES),
  index = ProtoField.uint8("weir.clcm.cur_index", "CurIndex"),
  hops = ProtoField.uint8("weir.clcm.hops", "Number of hops"),
  reserved = ProtoField.uint16("weir.clcm.reserved", "Reserved", base.HEX),
  spuid = ProtoField.uint32("weir.clcm.spuid", "SPUID of the sender", base.HEX),
  hop = ProtoField.bytes("weir.clcm.hop", "Hop"),
  hop_spuid = ProtoField.uint32("weir.clcm.hop.spuid", "SPUID", base.HEX),
  hop_egress = ProtoField.uint16("weir.clcm.hop.egress_port", "Egress port"),
  hop_reserved = ProtoField.uint16("weir.clcm.hop.reserved", "Reserved", base.HEX),
}
local e = {
  subtype = ProtoField.uint16("weir.echo.subtype", "Subtype", base.HEX),
  version = ProtoField.uint8("weir.echo.version", "Version"),
  kind = ProtoField.uint8("weir.echo.kind", "Kind", base.DEC, ECHO_KINDS),
  reserved = ProtoField.uint16("weir.echo.reserved", "Reserved", base.HEX),
  id = ProtoField.uint32("weir.echo.id", "Identifier"),
  sent = ProtoField.uint16("weir.echo.sent", "Frames sent"),
}
local p = {
  subtype = ProtoField.uint16("weir.probe.subtype", "Subtype", base.HEX),
  switch = ProtoField.uint32("weir.probe.switch", "Switch", base.HEX),
  port = ProtoField.uint8("weir.probe.port", "Port that sent it"),
  round = ProtoField.uint32("weir.probe.round", "Round"),
  nonce = ProtoField.uint64("weir.probe.nonce", "Nonce", base.HEX),
  padding = ProtoField.bytes("weir.probe.padding", "Padding"),
}
local l = {
  version = ProtoField.uint8("weir.lldp.version", "Version"),
  flags = ProtoField.uint8("weir.lldp.flags", "Flags", base.HEX),
  clcm = ProtoField.bool("weir.lldp.flags.clcm", "CLCM supported", 8, nil, 0x01),
  mode = ProtoField.uint8("weir.lldp.mode", "Mode", base.DEC, MODES, 0xe0),
  depth = ProtoField.uint8("weir.lldp.max_hops", "D", base.DEC, nil, 0x1f),
}
local r = {
  version = ProtoField.uint8("weir.lldp.credits.version", "Version"),
  flags = ProtoField.uint8("weir.lldp.credits.flags", "Flags", base.HEX),
  gives = ProtoField.bool("weir.lldp.credits.flags.gives", "Credits are given", 8, nil, 0x01),
  priorities = ProtoField.uint8("weir.lldp.credits.priorities", "Priorities with credits", base.HEX),
  closed = ProtoField.uint8("weir.lldp.credits.closed", "Priorities closed without credits", base.HEX),
  longest = ProtoField.uint16("weir.lldp.credits.longest_frame", "Longest frame in bytes"),
  limit = ProtoField.uint32("weir.lldp.credits.limit", "Credit limit in credits"),
  size = ProtoField.uint16("weir.lldp.credits.size", "Credit size in bytes"),
  overhead = ProtoField.int8("weir.lldp.credits.overhead", "Packet overhead in bytes"),
}

-- One of each kind for a protocol.
local function experts(prefix)
  return {
    truncated = ProtoExpert.new(prefix .. ".truncated", "Ends within the frame's fields",
      expert.group.MALFORMED, expert.severity.ERROR),
    illegal = ProtoExpert.new(prefix .. ".illegal", "A field has an invalid value",
      expert.group.MALFORMED, expert.severity.ERROR),
    version = ProtoExpert.new(prefix .. ".unknown_version", "Unknown version",
      expert.group.UNDECODED, expert.severity.WARN),
  }
end

local clcm_experts = experts("weir.clcm")
local echo_experts = experts("weir.echo")
local probe_experts = experts("weir.probe")
local lldp_experts = experts("weir.lldp")
local credit_experts = experts("weir.lldp.credits")

local function values(by_name)
  local list = {}
  for _, value in pairs(by_name) do
    list[#list + 1] = value
  end
  return list
end

clcm.fields, clcm.experts = values(c), values(clcm_experts)
echo.fields, echo.experts = values(e), values(echo_experts)
probe.fields, probe.experts = values(p), values(probe_experts)
lldp.fields, lldp.experts = values(l), values(lldp_experts)
credits.fields, credits.experts = values(r), values(credit_experts)

-- Adds a field if its bytes are there and gives its value; else reports it and gives nil.
local function add(tree, proto_experts, field, tvb, offset, length)
  if offset + length > tvb:len() then
    if not tree.is_truncated then
      tree.node:add_proto_expert_info(proto_experts.truncated)
      tree.is_truncated = true
    end
    return nil
  end
  local range = tvb(offset, length)
  return range:uint(), tree.node:add(field, range)
end

local function illegal(tree, item, proto_experts, text)
  (item or tree.node):add_proto_expert_info(proto_experts.illegal, text)
end

local function dissect_clcm(tvb, pinfo, parent)
  pinfo.cols.protocol = "CLCM"
  local tree = { node = parent:add(clcm, tvb()) }
  local function field(f, offset, length)
    return add(tree, clcm_experts, f, tvb, offset, length)
  end
  local function check(item, holds, text)
    if item and not holds then
      illegal(tree, item, clcm_experts, text)
    end
  end
  field(c.subtype, 0, 2)
  local version, version_item = field(c.version, 2, 1)
  if version and version ~= 1 then
    version_item:add_proto_expert_info(clcm_experts.version)
    return tvb:len()
  end
  local kind, kind_item = field(c.kind, 3, 1)
  check(kind_item, KINDS[kind], "Kind must be 1 or 2")
  local priority, priority_item = field(c.priority, 4, 1)
  check(priority_item, priority and priority < 8, "Priority must be 0 to 7")
  local phase, phase_item = field(c.phase, 5, 1)
  check(phase_item, phase == 1 or (phase == 2 and kind == 2),
    "CurPhase must be 1, or 2 of the Deadlock Breaker")
  local index, index_item = field(c.index, 6, 1)
  local hops, hops_item = field(c.hops, 7, 1)
  check(hops_item, hops and hops >= 1 and hops <= HOPS_MAX, "There must be 1 to 64 hops")
  if index and hops then
    check(index_item, phase ~= 1 or index == hops, "CurIndex must be the number of hops")
    check(index_item, phase ~= 2 or index < hops, "CurIndex must be below the number of hops")
  end
  local reserved, reserved_item = field(c.reserved, 8, 2)
  check(reserved_item, reserved == 0, "Reserved must be zero")
  local origin, origin_item = field(c.spuid, 10, 4)
  for hop = 0, math.min(hops or 0, HOPS_MAX) - 1 do
    local at = CLCM_FIXED_LENGTH + hop * HOP_LENGTH
    if at + HOP_LENGTH > tvb:len() then
      tree.node:add_proto_expert_info(clcm_experts.truncated)
      break
    end
    local range = tvb(at, HOP_LENGTH)
    local node = tree.node:add(c.hop, range)
    local spuid, egress = range(0, 4):uint(), range(4, 2):uint()
    node:set_text(string.format("Hop %d: SPUID %08x, egress port %d%s", hop, spuid, egress,
      (phase == 2 and index == hop) and " (its turn)" or ""))
    node:add(c.hop_spuid, range(0, 4))
    local egress_item = node:add(c.hop_egress, range(4, 2))
    check(egress_item, egress < 256, "A port must be below 256")
    local hop_reserved = node:add(c.hop_reserved, range(6, 2))
    check(hop_reserved, range(6, 2):uint() == 0, "Reserved must be zero")
    if hop == 0 then
      check(origin_item, origin == spuid, "The sender's SPUID must be that of the first hop")
    end
  end
  if origin and hops then
    local text = string.format("%s, %s, priority %d, %d hops, SPUID %08x",
      KINDS[kind] or "unknown kind", PHASES[phase] or "unknown phase", priority, hops, origin)
    tree.node:append_text(": " .. text)
    pinfo.cols.info = text
  end
  return tvb:len()
end

local function dissect_echo(tvb, pinfo, parent)
  pinfo.cols.protocol = "WEIR-ECHO"
  local tree = { node = parent:add(echo, tvb(0, math.min(tvb:len(), ECHO_LENGTH))) }
  local function field(f, offset, length)
    return add(tree, echo_experts, f, tvb, offset, length)
  end
  field(e.subtype, 0, 2)
  local version, version_item = field(e.version, 2, 1)
  if version and version ~= 1 then
    version_item:add_proto_expert_info(echo_experts.version)
    return tvb:len()
  end
  local kind, kind_item = field(e.kind, 3, 1)
  if kind and not ECHO_KINDS[kind] then
    illegal(tree, kind_item, echo_experts, "Kind must be 1 or 2")
  end
  local reserved, reserved_item = field(e.reserved, 4, 2)
  if reserved and reserved ~= 0 then
    illegal(tree, reserved_item, echo_experts, "Reserved must be zero")
  end
  local id = field(e.id, 6, 4)
  for priority = 0, 7 do
    local sent, item = field(e.sent, 10 + 2 * priority, 2)
    if item then
      item:prepend_text(string.format("Priority %d: ", priority))
      if kind == 2 and sent ~= 0 then
        illegal(tree, item, echo_experts, "A reply counts nothing")
      end
    end
  end
  if id then
    pinfo.cols.info = string.format("Echo %s %d", ECHO_KINDS[kind] or "of unknown kind", id)
  end
  return tvb:len()
end

-- The EtherType is one for local experiments: other uses of it are left alone.
local by_ethertype = Proto("weir", "Weir control frames")
function by_ethertype.dissector(tvb, pinfo, tree)
  if tvb:len() < 2 then
    return 0
  end
  local subtype = tvb(0, 2):uint()
  if subtype == SUBTYPE_CLCM then
    return dissect_clcm(tvb, pinfo, tree)
  elseif subtype == SUBTYPE_ECHO then
    return dissect_echo(tvb, pinfo, tree)
  end
  return 0
end
DissectorTable.get("ethertype"):add(ETHERTYPE, by_ethertype)

-- A probe's sender is in its source address.
local source_field = Field.new("eth.src")

local function dissect_probe(tvb, pinfo, parent)
  pinfo.cols.protocol = "WEIR-PROBE"
  local tree = { node = parent:add(probe, tvb(0, math.min(tvb:len(), PROBE_LENGTH))) }
  add(tree, probe_experts, p.subtype, tvb, 0, 2)
  local source = source_field()
  if source and source.range(0, 1):uint() == PROBE_SOURCE_BEGIN then
    local switch, port = source.range(1, 4), source.range(5, 1)
    tree.node:add(p.switch, switch)
    tree.node:add(p.port, port)
    pinfo.cols.info = string.format("Loop probe of switch %08x, port %d", switch:uint(), port:uint())
  else
    illegal(tree, nil, probe_experts, "The source address must begin with 06")
    pinfo.cols.info = "Loop probe"
  end
  if tvb:len() < PROBE_LENGTH then
    tree.node:add_proto_expert_info(probe_experts.truncated)
    tree.is_truncated = true
  end
  add(tree, probe_experts, p.round, tvb, 2, 4)
  if tvb:len() >= 14 then
    tree.node:add(p.nonce, tvb(6, 8))
  end
  if tvb:len() > 14 then
    local padding = tvb(14, math.min(tvb:len(), PROBE_LENGTH) - 14)
    local item = tree.node:add(p.padding, padding)
    if string.find(padding:bytes():tohex(), "[^0]") then
      illegal(tree, item, probe_experts, "The padding must be zero")
    end
  end
  return tvb:len()
end

-- As above: other subtypes are left alone.
local by_second_ethertype = Proto("weir2", "Weir loop probes by EtherType")
function by_second_ethertype.dissector(tvb, pinfo, tree)
  if tvb:len() < 2 or tvb(0, 2):uint() ~= SUBTYPE_PROBE then
    return 0
  end
  return dissect_probe(tvb, pinfo, tree)
end
DissectorTable.get("ethertype"):add(PROBE_ETHERTYPE, by_second_ethertype)

-- LLDP's own dissector has no table for organisations: this one looks at the frame once more, after it.
local LLDP_ETHERTYPE = 0x88cc
local TLV_ORGANISATION = 127
local OUI = 0x025745
local TLV_SUBTYPE = 1
local TLV_LENGTH = 16
local CREDITS_SUBTYPE = 2
local CREDITS_FIXED_LENGTH = 12
local CREDITS_RECORD_LENGTH = 8
local CREDIT_LIMIT_MAX = 0x100000
local CREDIT_SIZE_MIN = 64
local CREDIT_OVERHEAD_MIN = -16
local ethertype_field = Field.new("eth.type")

local function dissect_tlv(tvb, parent)
  local tree = { node = parent:add(lldp, tvb()) }
  local function field(f, offset)
    return add(tree, lldp_experts, f, tvb, offset, 1)
  end
  if tvb:len() > 2 + TLV_LENGTH then
    illegal(tree, nil, lldp_experts, "The TLV's length must be 16")
  end
  local version, version_item = field(l.version, 6)
  if version and version ~= 1 then
    version_item:add_proto_expert_info(lldp_experts.version)
    return
  end
  local _, flags_item = field(l.flags, 7)
  if flags_item then
    flags_item:add(l.clcm, tvb(7, 1))
  end
  for priority = 0, 7 do
    local at = 10 + priority
    if at >= tvb:len() then
      tree.node:add_proto_expert_info(lldp_experts.truncated)
      return
    end
    local value = tvb(at, 1):uint()
    local mode, depth = math.floor(value / 32), value % 32
    local node = tree.node:add(tvb(at, 1), string.format("Priority %d: %s%s", priority,
      MODES[mode] or "unknown mode", mode == 2 and string.format(", D = %d", depth) or ""))
    local mode_item = node:add(l.mode, tvb(at, 1))
    local depth_item = node:add(l.depth, tvb(at, 1))
    if not MODES[mode] then
      illegal(tree, mode_item, lldp_experts, "The mode must be 0, 1 or 2")
    elseif (mode == 2) ~= (depth > 0) then
      illegal(tree, depth_item, lldp_experts, "D must be 1 to 31 with mode level, and zero with others")
    end
  end
end

local function has_bit(value, bit)
  return math.floor(value / 2 ^ bit) % 2 == 1
end

-- Bytes after the last record are of a later edition.
local function dissect_credits(tvb, parent)
  local tree = { node = parent:add(credits, tvb()) }
  local function field(f, offset, length)
    return add(tree, credit_experts, f, tvb, offset, length)
  end
  local version, version_item = field(r.version, 6, 1)
  if version and version ~= 1 then
    version_item:add_proto_expert_info(credit_experts.version)
    return
  end
  local _, flags_item = field(r.flags, 7, 1)
  if flags_item then
    flags_item:add(r.gives, tvb(7, 1))
  end
  local priorities = field(r.priorities, 8, 1)
  local closed, closed_item = field(r.closed, 9, 1)
  field(r.longest, 10, 2)
  if not priorities or not closed then
    return
  end
  local at = CREDITS_FIXED_LENGTH
  for priority = 0, 7 do
    if has_bit(priorities, priority) then
      if at + CREDITS_RECORD_LENGTH > tvb:len() then
        tree.node:add_proto_expert_info(credit_experts.truncated)
        return
      end
      local limit, size, overhead = tvb(at, 4):uint(), tvb(at + 4, 2):uint(), tvb(at + 6, 1):int()
      local node = tree.node:add(tvb(at, CREDITS_RECORD_LENGTH), string.format(
        "Priority %d: %d credits of %d B, packet overhead %d B, without credits %s", priority, limit, size,
        overhead, has_bit(closed, priority) and "closed" or "PFC"))
      local limit_item = node:add(r.limit, tvb(at, 4))
      local size_item = node:add(r.size, tvb(at + 4, 2))
      local overhead_item = node:add(r.overhead, tvb(at + 6, 1))
      if limit == 0 or limit > CREDIT_LIMIT_MAX then
        illegal(tree, limit_item, credit_experts, "The limit must be 1 to 1048576")
      end
      if size < CREDIT_SIZE_MIN then
        illegal(tree, size_item, credit_experts, "The size must be at least 64")
      end
      if overhead < CREDIT_OVERHEAD_MIN then
        illegal(tree, overhead_item, credit_experts, "The overhead must be at least -16")
      end
      at = at + CREDITS_RECORD_LENGTH
    elseif has_bit(closed, priority) then
      illegal(tree, closed_item, credit_experts, "A closed priority must have a record")
    end
  end
end

function lldp.dissector(tvb, _, tree)
  local ethertype = ethertype_field()
  if not ethertype or ethertype.value ~= LLDP_ETHERTYPE then
    return
  end
  -- Behind the Ethernet header; LLDP is untagged.
  local at = 14
  while at + 2 <= tvb:len() do
    local head = tvb(at, 2):uint()
    local kind, length = math.floor(head / 512), head % 512
    if kind == 0 then
      return
    end
    local whole = math.min(2 + length, tvb:len() - at)
    if kind == TLV_ORGANISATION and whole >= 6 and tvb(at + 2, 3):uint() == OUI then
      local subtype = tvb(at + 5, 1):uint()
      if subtype == TLV_SUBTYPE then
        dissect_tlv(tvb(at, whole):tvb(), tree)
      elseif subtype == CREDITS_SUBTYPE then
        dissect_credits(tvb(at, whole):tvb(), tree)
      end
    end
    at = at + 2 + length
  end
end
register_postdissector(lldp)
