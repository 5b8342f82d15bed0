// HPCC's example on ns-3's engine: priority flow control, marking and DCQCN as HPCC's simulator has them, which Debian's
// ns-3 has not.
//
//   hpcc TOPOLOGY FLOWS [NAME=VALUE...] prints a line for each flow that was acknowledged whole:
//   from to size start_ns received_ns acknowledged_ns ideal_ns
// Both times are from the start of the flow; HPCC's is the one until the last byte is acknowledged.
//
// Written from IEEE 802.1Qbb, from Zhu et al. (SIGCOMM 2015), from NVIDIA's description of DCQCN's parameters, and from
// what HPCC's simulator does where those leave it open:
//   switches  A frame is counted to the port that it came by and to the one that it leaves by. A port pauses its neighbour
//             when its frames beyond 4 KiB exceed a part of what is free (an eighth, twice that for each doubling of the
//             rate over a host's), and resumes 3 KiB below. A frame is marked when it leaves, by the queue behind it.
//   hosts     Flows take turns; each is paced by its rate. Every frame is acknowledged at once by 60 bytes that no pause
//             holds, with the mark in them. A flow is complete when its last byte is acknowledged.
//   DCQCN     By timers alone, as NICs have it: from the first marked acknowledgement on, alpha moves by each alpha_us and the
//             rate is cut by each cut_us in which one came; increase_us after a cut the first recovery.
// down=1 cuts times of transmission to whole nanoseconds, as ns-3 3.17 did: a frame of 1048 B then takes 83 ns at 100 Gbit/s
// where it should take 83.84. With HPCC's files and down=1 completion times without DCQCN are those of HPCC's simulator to the
// nanosecond, and so are its pauses (see docs/src/simulator/hpcc.md).

#include <fstream>
#include <iostream>

#include "hpcc_nodes.h"

namespace {

class Network {
 public:
  void ReadTopology(std::istream& in) {
    uint32_t nodes = 0, switches = 0, links = 0;
    in >> nodes >> switches >> links;
    NS_ABORT_MSG_IF(!in || nodes == 0 || nodes > 100000, "the topology's first line cannot be read");
    isSwitch.assign(nodes, false);
    for (uint32_t i = 0; i < switches; ++i) {
      uint32_t node = 0;
      in >> node;
      NS_ABORT_MSG_IF(!in || node >= nodes, "a switch of the topology cannot be read");
      isSwitch[node] = true;
    }
    for (uint32_t node = 0; node < nodes; ++node) {
      if (isSwitch[node]) {
        all.push_back(std::make_unique<Switch>());
      } else {
        all.push_back(std::make_unique<Host>());
      }
    }
    for (uint32_t i = 0; i < links; ++i) {
      uint32_t a = 0, b = 0;
      std::string rate, delay, errors;
      in >> a >> b >> rate >> delay >> errors;
      NS_ABORT_MSG_IF(!in || a >= nodes || b >= nodes, "a link of the topology cannot be read");
      Port *one = Add(a, rate, delay), *other = Add(b, rate, delay);
      one->peer = other;
      other->peer = one;
    }
    for (uint32_t node = 0; node < nodes; ++node) {
      if (!isSwitch[node]) {
        NS_ABORT_MSG_IF(all[node]->ports.size() != 1, "a host has several links, or none");
        hostRate = std::max(hostRate, all[node]->ports[0]->rate);
      }
    }
    for (uint32_t node = 0; node < nodes; ++node) {
      if (isSwitch[node]) {
        static_cast<Switch*>(all[node].get())->Prepare(hostRate);
      }
      all[node]->routes.resize(nodes);
    }
    for (uint32_t host = 0; host < nodes; ++host) {
      if (!isSwitch[host]) {
        RouteTo(host);
      }
    }
  }

  void ReadFlows(std::istream& in) {
    uint32_t count = 0;
    in >> count;
    g_flows.resize(count);
    for (uint32_t i = 0; i < count; ++i) {
      Flow& flow = g_flows[i];
      uint32_t group = 0, port = 0;
      double start = 0;
      in >> flow.from >> flow.to >> group >> port >> flow.size >> start;
      NS_ABORT_MSG_IF(!in || flow.from >= all.size() || flow.to >= all.size() || isSwitch[flow.from] ||
                          isSwitch[flow.to] || flow.size == 0,
                      "a flow cannot be read");
      first = i == 0 ? start : std::min(first, start);
      flow.start = int64_t(start * 1e9 + 0.5);
      static_cast<Host*>(all[flow.from].get())->mine.push_back(i);
    }
    for (uint32_t i = 0; i < count; ++i) {
      g_flows[i].start -= int64_t(first * 1e9 + 0.5);
      auto* host = static_cast<Host*>(all[g_flows[i].from].get());
      Simulator::Schedule(NanoSeconds(g_flows[i].start), &Host::Begin, host, i);
    }
  }

  // As HPCC's simulator has it: a round trip with one full payload each way there, and all bytes on the slowest line.
  int64_t Ideal(const Flow& flow) const {
    double delay = 0, transmission = 0, slowest = hostRate;
    const Node* at = all[flow.from].get();
    const Node* goal = all[flow.to].get();
    while (at != goal) {
      const Port& port = *at->ports[at->routes[flow.to][0]];
      delay += double(port.delay.GetNanoSeconds());
      transmission += double(int64_t(g_settings["payload"] * 8e9 / port.rate));
      slowest = std::min(slowest, port.rate);
      at = port.peer->node;
    }
    const uint64_t payload = uint64_t(g_settings["payload"]);
    const uint64_t bytes = flow.size + (flow.size - 1 + payload) / payload * uint64_t(g_settings["header"]);
    return int64_t(2 * delay + transmission) + int64_t(double(bytes) * 8e9 / slowest);
  }

 private:
  Port* Add(uint32_t node, const std::string& rate, const std::string& delay) {
    auto port = std::make_unique<Port>();
    port->node = all[node].get();
    port->index = uint32_t(all[node]->ports.size());
    port->rate = double(DataRate(rate));
    port->delay = Time(delay);
    all[node]->ports.push_back(std::move(port));
    return all[node]->ports.back().get();
  }

  double DataRate(const std::string& text) const {
    size_t end = 0;
    const double number = std::stod(text, &end);
    const std::string unit = text.substr(end);
    NS_ABORT_MSG_IF(unit != "Gbps" && unit != "Mbps", "a rate is neither in Gbps nor in Mbps");
    return number * (unit == "Gbps" ? 1e9 : 1e6);
  }

  // All shortest ways to a host, never through another one.
  void RouteTo(uint32_t host) {
    std::map<const Node*, uint32_t> distance = {{all[host].get(), 0}};
    std::deque<Node*> next = {all[host].get()};
    while (!next.empty()) {
      Node* at = next.front();
      next.pop_front();
      for (const auto& port : at->ports) {
        Node* there = port->peer->node;
        const uint32_t further = distance[at] + 1;
        const auto [known, isNew] = distance.emplace(there, further);
        if (isNew && dynamic_cast<Switch*>(there) != nullptr) {
          next.push_back(there);
        }
        if (known->second == further) {
          there->routes[host].push_back(port->peer->index);
        }
      }
    }
  }

  std::vector<bool> isSwitch;
  std::vector<std::unique_ptr<Node>> all;
  double hostRate = 0, first = 0;
};

}  // namespace

int main(int argc, char** argv) {
  for (int at = 3; at < argc; ++at) {
    if (!g_settings.Set(argv[at])) {
      std::cerr << "hpcc: " << argv[at] << " is no NAME=VALUE with one of the names at the top of hpcc.cc\n";
      return 2;
    }
  }
  if (argc < 3) {
    std::cerr << "usage: hpcc TOPOLOGY FLOWS [NAME=VALUE...]\n";
    return 2;
  }
  std::ifstream topology(argv[1]), flows(argv[2]);
  if (!topology || !flows) {
    std::cerr << "hpcc: " << (topology ? argv[2] : argv[1]) << " cannot be opened\n";
    return 2;
  }
  Time::SetResolution(Time::PS);
  RngSeedManager::SetSeed(uint32_t(g_settings["seed"]));
  Network network;
  network.ReadTopology(topology);
  network.ReadFlows(flows);
  Simulator::Stop(Seconds(g_settings["stop_s"]));
  Simulator::Run();
  for (const Flow& flow : g_flows) {
    if (flow.completion >= 0) {
      std::cout << flow.from << ' ' << flow.to << ' ' << flow.size << ' ' << flow.start << ' ' << flow.received << ' '
                << flow.completion << ' ' << network.Ideal(flow) << '\n';
    }
  }
  std::cerr << g_pauses << " pauses, " << g_marks << " marks, longest queue " << g_longest << " B\n";
  return 0;
}
