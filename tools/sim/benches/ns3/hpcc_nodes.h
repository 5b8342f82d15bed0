// Hosts, switches and their ports, for hpcc.cc, which says what they do.

#ifndef WEIR_HPCC_NODES_H
#define WEIR_HPCC_NODES_H

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "ns3/core-module.h"

using namespace ns3;

namespace {

constexpr uint32_t kAcknowledgement = 60;
// Of HPCC's simulator; on a real line it has 64 bytes.
constexpr uint32_t kPauseFrame = 43;
constexpr uint64_t kReserve = 4 * 1024;
constexpr uint64_t kResumeOffset = 3 * 1024;

// What an argument may change. Defaults are what HPCC's run.py writes for --cc dcqcn --bw 100; kmin and kmax are in bytes for
// each Gbit/s of a line.
struct Settings {
  std::map<std::string, double> values = {
      {"dcqcn", 1},     {"payload", 1000}, {"header", 48},   {"buffer_mib", 32}, {"alpha_us", 1}, {"cut_us", 4},
      {"increase_us", 300}, {"fast", 1},   {"clamp", 0},     {"g", 1.0 / 256},   {"ai_mbit", 20}, {"hai_mbit", 200},
      {"min_mbit", 1000},   {"kmin", 4000}, {"kmax", 16000}, {"pmax", 0.2},      {"seed", 1},     {"down", 0},
      {"stop_s", 2},
  };
  double operator[](const char* name) const { return values.at(name); }

  bool Set(const std::string& argument) {
    const size_t equals = argument.find('=');
    if (equals == std::string::npos) {
      return false;
    }
    auto at = values.find(argument.substr(0, equals));
    if (at == values.end()) {
      return false;
    }
    at->second = std::stod(argument.substr(equals + 1));
    return true;
  }
};

Settings g_settings;

int64_t Picoseconds(double microseconds) { return int64_t(microseconds * 1e6 + 0.5); }

Time TransmissionTime(uint64_t bytes, double rate) {
  const double picoseconds = double(bytes) * 8e12 / rate;
  if (g_settings["down"] != 0) {
    return NanoSeconds(int64_t(picoseconds / 1000));
  }
  return PicoSeconds(int64_t(picoseconds));
}

enum class Kind : uint8_t { kData, kAcknowledgement, kPause, kResume };

struct Frame {
  Kind kind;
  bool marked;
  uint32_t flow, bytes;
  uint64_t end;  // The flow's bytes up to the end of this frame.
  uint32_t cameBy = 0;
};

class Node;

// One end of a line. What to send next is asked of the node whenever the line is free.
struct Port {
  Node* node;
  uint32_t index;
  Port* peer = nullptr;
  double rate;
  Time delay;
  bool busy = false, paused = false;
  std::deque<Frame> control;  // Pauses and what hosts acknowledge: first, and never held.

  void Kick();
  void Free() {
    busy = false;
    Kick();
  }
};

class Node {
 public:
  virtual ~Node() = default;
  // The next frame to leave by this port; false when there is none.
  virtual bool Next(Port& port, Frame& frame) = 0;
  virtual void Receive(Port& port, Frame frame) = 0;

  void Arrive(uint32_t port, Frame frame) {
    Port& at = *ports[port];
    if (frame.kind == Kind::kPause || frame.kind == Kind::kResume) {
      at.paused = frame.kind == Kind::kPause;
      at.Kick();
    } else {
      Receive(at, frame);
    }
  }

  std::vector<std::unique_ptr<Port>> ports;
  std::vector<std::vector<uint32_t>> routes;  // By the host to go to.
};

void Port::Kick() {
  if (busy) {
    return;
  }
  Frame frame{};
  if (!control.empty()) {
    frame = control.front();
    control.pop_front();
  } else if (!node->Next(*this, frame)) {
    return;
  }
  busy = true;
  const Time time = TransmissionTime(frame.bytes, rate);
  Simulator::Schedule(time, &Port::Free, this);
  Simulator::Schedule(time + delay, &Node::Arrive, peer->node, peer->index, frame);
}

struct Flow {
  uint32_t from, to;
  uint64_t size;
  int64_t start;  // Nanoseconds.
  uint64_t sent = 0, acknowledged = 0;
  double rate = 0, target = 0, line = 0, alpha = 1;
  Time available;
  bool started = false, congested = false, alphaMarked = false, cutMarked = false;
  uint32_t stage = 0;
  int64_t received = -1, completion = -1;
  uint64_t cuts = 0;
  EventId alphaEvent, cutEvent, increaseEvent;

  // A marked acknowledgement.
  void Notified() {
    alphaMarked = cutMarked = true;
    if (congested) {
      return;
    }
    congested = true;
    alpha = 1;
    alphaMarked = false;
    target = rate;
    alphaEvent = Simulator::Schedule(PicoSeconds(Picoseconds(g_settings["alpha_us"])), &Flow::UpdateAlpha, this);
    // A nanosecond later, so that a cut uses the alpha of its own instant.
    cutEvent = Simulator::Schedule(PicoSeconds(Picoseconds(g_settings["cut_us"]) + 1000), &Flow::Cut, this);
  }

  void UpdateAlpha() {
    const double g = g_settings["g"];
    alpha = (1 - g) * alpha + (alphaMarked ? g : 0);
    alphaMarked = false;
    alphaEvent = Simulator::Schedule(PicoSeconds(Picoseconds(g_settings["alpha_us"])), &Flow::UpdateAlpha, this);
  }

  void Cut() {
    cutEvent = Simulator::Schedule(PicoSeconds(Picoseconds(g_settings["cut_us"])), &Flow::Cut, this);
    if (!cutMarked) {
      return;
    }
    cutMarked = false;
    if (g_settings["clamp"] != 0 || stage > 0) {
      target = rate;
    }
    rate = std::max(g_settings["min_mbit"] * 1e6, rate * (1 - alpha / 2));
    stage = 0;
    ++cuts;
    increaseEvent.Cancel();
    increaseEvent = Simulator::Schedule(PicoSeconds(Picoseconds(g_settings["increase_us"])), &Flow::Increase, this);
  }

  void Increase() {
    increaseEvent = Simulator::Schedule(PicoSeconds(Picoseconds(g_settings["increase_us"])), &Flow::Increase, this);
    const uint32_t fast = uint32_t(g_settings["fast"]);
    if (stage == fast) {
      target += g_settings["ai_mbit"] * 1e6;
    } else if (stage > fast) {
      target += g_settings["hai_mbit"] * 1e6;
    }
    target = std::min(target, line);
    rate = (rate + target) / 2;
    ++stage;
  }

  void Complete() {
    completion = Simulator::Now().GetNanoSeconds() - start;
    alphaEvent.Cancel();
    cutEvent.Cancel();
    increaseEvent.Cancel();
  }
};

std::vector<Flow> g_flows;
uint64_t g_pauses = 0, g_marks = 0, g_longest = 0;

class Host : public Node {
 public:
  bool Next(Port& port, Frame& frame) override {
    if (port.paused) {
      return false;
    }
    Time soonest = Time::Max();
    for (size_t turn = 1; turn <= mine.size(); ++turn) {
      const size_t at = (last + turn) % mine.size();
      Flow& flow = g_flows[mine[at]];
      if (!flow.started || flow.sent == flow.size) {
        continue;
      }
      if (flow.available > Simulator::Now()) {
        soonest = std::min(soonest, flow.available);
        continue;
      }
      const uint64_t payload = std::min(uint64_t(g_settings["payload"]), flow.size - flow.sent);
      flow.sent += payload;
      const uint32_t bytes = uint32_t(payload + uint64_t(g_settings["header"]));
      frame = Frame{Kind::kData, false, mine[at], bytes, flow.sent};
      flow.available = Simulator::Now() + TransmissionTime(bytes, flow.rate);
      last = at;
      return true;
    }
    if (soonest != Time::Max() && !wake.IsRunning()) {
      wake = Simulator::Schedule(soonest - Simulator::Now(), &Port::Kick, &port);
    }
    return false;
  }

  void Receive(Port& port, Frame frame) override {
    Flow& flow = g_flows[frame.flow];
    if (frame.kind == Kind::kData) {
      if (frame.end == flow.size) {
        flow.received = Simulator::Now().GetNanoSeconds() - flow.start;
      }
      port.control.push_back(Frame{Kind::kAcknowledgement, frame.marked, frame.flow, kAcknowledgement, frame.end});
      port.Kick();
      return;
    }
    flow.acknowledged = std::max(flow.acknowledged, frame.end);
    if (flow.acknowledged == flow.size) {
      flow.Complete();
    } else if (frame.marked && g_settings["dcqcn"] != 0) {
      flow.Notified();
    }
    port.Kick();
  }

  void Begin(uint32_t index) {
    Flow& flow = g_flows[index];
    flow.started = true;
    flow.rate = flow.target = flow.line = ports[0]->rate;
    flow.available = Simulator::Now();
    ports[0]->Kick();
  }

  std::vector<uint32_t> mine;  // Flows from here.

 private:
  size_t last = 0;
  EventId wake;
};

class Switch : public Node {
 public:
  void Prepare(double hostRate) {
    m_random = CreateObject<UniformRandomVariable>();
    m_state.resize(ports.size());
    m_free = int64_t(g_settings["buffer_mib"] * 1024 * 1024);
    for (size_t at = 0; at < ports.size(); ++at) {
      const Port& port = *ports[at];
      // Three times what is on the line at once.
      m_state[at].headroom = uint64_t(port.rate / 8e9 * double(port.delay.GetNanoSeconds())) * 3;
      m_free -= int64_t(m_state[at].headroom + kReserve);
      for (double rate = port.rate; rate > hostRate && m_state[at].shift > 0; rate /= 2) {
        --m_state[at].shift;
      }
    }
  }

  void Receive(Port& port, Frame frame) override {
    const auto& ways = routes[frame.kind == Kind::kData ? g_flows[frame.flow].to : g_flows[frame.flow].from];
    const uint32_t out = ways[(frame.flow * 2654435761u >> 16) % ways.size()];
    frame.cameBy = port.index;
    Account(m_state[port.index], frame.bytes);
    State& egress = m_state[out];
    egress.queue.push_back(frame);
    egress.queued += frame.bytes;
    g_longest = std::max(g_longest, egress.queued);
    State& ingress = m_state[port.index];
    if (!ingress.pausing && (ingress.inHeadroom > 0 || Shared(ingress) >= Threshold(ingress))) {
      ingress.pausing = true;
      ++g_pauses;
      port.control.push_back(Frame{Kind::kPause, false, 0, kPauseFrame, 0});
      port.Kick();
    }
    ports[out]->Kick();
  }

  bool Next(Port& port, Frame& frame) override {
    State& egress = m_state[port.index];
    if (port.paused || egress.queue.empty()) {
      return false;
    }
    frame = egress.queue.front();
    egress.queue.pop_front();
    egress.queued -= frame.bytes;
    State& ingress = m_state[frame.cameBy];
    Release(ingress, frame.bytes);
    if (frame.kind == Kind::kData && ShouldMark(port, egress.queued)) {
      frame.marked = true;
      ++g_marks;
    }
    const uint64_t shared = Shared(ingress);
    if (ingress.pausing && ingress.inHeadroom == 0 &&
        (shared == 0 || shared + kResumeOffset <= Threshold(ingress))) {
      ingress.pausing = false;
      Port& back = *ports[frame.cameBy];
      back.control.push_back(Frame{Kind::kResume, false, 0, kPauseFrame, 0});
      // Not from within the choice of this very port's frame.
      Simulator::ScheduleNow(&Port::Kick, &back);
    }
    return true;
  }

 private:
  struct State {
    std::deque<Frame> queue;
    uint64_t queued = 0;                     // Of frames that leave by this port.
    uint64_t held = 0, inHeadroom = 0;       // Of frames that came by it.
    uint64_t headroom = 0;
    uint32_t shift = 3;
    bool pausing = false;
  };

  static uint64_t Shared(const State& port) { return port.held > kReserve ? port.held - kReserve : 0; }
  uint64_t Threshold(const State& port) const { return uint64_t(std::max<int64_t>(m_free, 0)) >> port.shift; }

  void Account(State& port, uint64_t bytes) {
    const uint64_t held = port.held + bytes;
    if (held <= kReserve) {
      port.held = held;
    } else if (held - kReserve > Threshold(port)) {
      port.inHeadroom += bytes;
      NS_ABORT_MSG_IF(port.inHeadroom > port.headroom, "a frame would be lost: the headroom is full");
    } else {
      port.held = held;
      m_free -= int64_t(std::min(bytes, held - kReserve));
    }
  }

  void Release(State& port, uint64_t bytes) {
    const uint64_t headroom = std::min(port.inHeadroom, bytes);
    const uint64_t shared = std::min(bytes - headroom, Shared(port));
    port.inHeadroom -= headroom;
    port.held -= bytes - headroom;
    m_free += int64_t(shared);
  }

  bool ShouldMark(const Port& port, uint64_t queued) {
    const double gbit = port.rate / 1e9, kmin = g_settings["kmin"] * gbit, kmax = g_settings["kmax"] * gbit;
    if (double(queued) > kmax) {
      return true;
    }
    const double share = g_settings["pmax"] * (double(queued) - kmin) / (kmax - kmin);
    return double(queued) > kmin && m_random->GetValue(0, 1) < share;
  }

  std::vector<State> m_state;
  int64_t m_free = 0;
  Ptr<UniformRandomVariable> m_random;
};

}  // namespace

#endif
