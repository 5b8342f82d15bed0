// The fat-tree of the simulator's benchmark in ns-3, by its plain API: the same hosts, lines, senders and ways.
//
// Standard input tells what to build and run (written by benches/scale/ns3.rs):
//   k, frame length in bytes, line rate and flow rate in bit/s, delay and gap between frames in ns,
//   nanoseconds to warm up and to measure; then for each flow: from, to, first frame in ns, aggregation
//   switch of the pod, core.
// Standard output tells what was counted, as JSON. The argument is what nodes do with frames:
//   ip     UDP over IPv4: sockets at hosts, Ipv4L3Protocol in switches, routes by a table indexed by host
//   link   none of that: devices hand frames to a function that sends them by the device of a table
// and a second one may name the scheduler (of four that were tried, the default is as fast as any).
//
// Frame-hops are what the device queues have counted: every frame that is sent passes one. No trace is connected.

#include <ctime>
#include <iostream>
#include <memory>
#include <string>
#include <vector>

#include "ns3/core-module.h"
#include "ns3/internet-module.h"
#include "ns3/network-module.h"
#include "ns3/point-to-point-module.h"

using namespace ns3;

namespace {

constexpr uint16_t kUdpPort = 9;
constexpr uint16_t kProtocol = 0x0800;
constexpr uint32_t kPppHeader = 2;
constexpr uint32_t kIpAndUdpHeaders = 28;

struct Settings {
  uint32_t k, frameBytes;
  uint64_t lineRate, flowRate;
  int64_t delay, gap, warmUp, measured;
};

struct Flow {
  uint32_t from, to;
  int64_t start;
  uint32_t aggregation, core;
};

// Host 0 is 10.0.0.1.
constexpr uint32_t kFirstAddress = 0x0a000001;
uint32_t HostOf(Ipv4Address address) { return address.Get() - kFirstAddress; }
Ipv4Address AddressOf(uint32_t host) { return Ipv4Address(kFirstAddress + host); }

// Where frames go from one node, by the host that they go to.
using Table = std::vector<uint8_t>;
constexpr uint8_t kNoPort = 0xff;

// A routing protocol that is a table: nothing that ns-3 brings finds a route faster.
class TableRouting : public Ipv4RoutingProtocol {
 public:
  static TypeId GetTypeId() {
    static TypeId id = TypeId("TableRouting").SetParent<Ipv4RoutingProtocol>();
    return id;
  }

  // Interface 0 is the loopback, port p interface p + 1.
  void Fill(const Table& table, const std::vector<Ptr<PointToPointNetDevice>>& ports, Ipv4Address self) {
    m_self = self;
    m_table = table;
    for (const auto& device : ports) {
      auto route = Create<Ipv4Route>();
      route->SetSource(self);
      route->SetGateway(Ipv4Address::GetAny());
      route->SetOutputDevice(device);
      m_routes.push_back(route);
    }
  }

  Ptr<Ipv4Route> RouteOutput(Ptr<Packet>, const Ipv4Header& header, Ptr<NetDevice>,
                             Socket::SocketErrno& error) override {
    error = Socket::ERROR_NOTERROR;
    Ptr<Ipv4Route> route = m_routes[0];
    route->SetDestination(header.GetDestination());
    return route;
  }

  bool RouteInput(Ptr<const Packet> packet, const Ipv4Header& header, Ptr<const NetDevice>,
                  UnicastForwardCallback forward, MulticastForwardCallback, LocalDeliverCallback deliver,
                  ErrorCallback) override {
    if (header.GetDestination() == m_self) {
      deliver(packet, header, 1);
      return true;
    }
    uint8_t port = m_table[HostOf(header.GetDestination())];
    if (port == kNoPort) {
      return false;
    }
    forward(m_routes[port], packet, header);
    return true;
  }

  void NotifyInterfaceUp(uint32_t) override {}
  void NotifyInterfaceDown(uint32_t) override {}
  void NotifyAddAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void NotifyRemoveAddress(uint32_t, Ipv4InterfaceAddress) override {}
  void SetIpv4(Ptr<Ipv4>) override {}
  void PrintRoutingTable(Ptr<OutputStreamWrapper>, Time::Unit) const override {}

 private:
  Ipv4Address m_self;
  Table m_table;
  std::vector<Ptr<Ipv4Route>> m_routes;
};

// Two bytes that say where a frame without IP goes.
class TargetHeader : public Header {
 public:
  static TypeId GetTypeId() {
    static TypeId id = TypeId("TargetHeader").SetParent<Header>().AddConstructor<TargetHeader>();
    return id;
  }
  TypeId GetInstanceTypeId() const override { return GetTypeId(); }
  uint32_t GetSerializedSize() const override { return 2; }
  void Serialize(Buffer::Iterator at) const override { at.WriteHtonU16(target); }
  uint32_t Deserialize(Buffer::Iterator at) override {
    target = at.ReadNtohU16();
    return 2;
  }
  void Print(std::ostream& out) const override { out << target; }

  uint16_t target = 0;
};

struct NetNode {
  Ptr<Node> node;
  std::vector<Ptr<PointToPointNetDevice>> ports;
  Table table;
  uint64_t received = 0;

  // Without IP: what the devices of a switch call.
  bool Forward(Ptr<NetDevice>, Ptr<const Packet> packet, uint16_t protocol, const Address& from) {
    TargetHeader header;
    packet->PeekHeader(header);
    // The packet is ours: the channel has copied it for this device.
    return ports[table[header.target]]->Send(ConstCast<Packet>(packet), from, protocol);
  }

  // Without IP: what the device of a host calls.
  bool Take(Ptr<NetDevice>, Ptr<const Packet>, uint16_t, const Address&) {
    ++received;
    return true;
  }

  void TakeFromSocket(Ptr<Socket> socket) {
    while (socket->Recv()) {
      ++received;
    }
  }
};

// Sends frames of one length at a constant rate.
struct Sender {
  Ptr<Socket> socket;
  Ptr<PointToPointNetDevice> device;
  TargetHeader header;
  Address broadcast;
  uint32_t payload;
  Time period;
  uint64_t sent = 0;

  void Send() {
    auto packet = Create<Packet>(payload);
    if (socket) {
      socket->Send(packet);
    } else {
      packet->AddHeader(header);
      device->Send(packet, broadcast, kProtocol);
    }
    ++sent;
    Simulator::Schedule(period, &Sender::Send, this);
  }
};

class FatTree {
 public:
  FatTree(const Settings& settings, bool withIp) : m_settings(settings), m_half(settings.k / 2), m_withIp(withIp) {
    const uint32_t edges = settings.k * m_half;
    m_hostCount = edges * m_half;
    m_edge = m_hostCount;
    m_aggregation = m_edge + edges;
    m_core = m_aggregation + edges;
    m_nodes.resize(m_core + m_half * m_half);
    for (auto& node : m_nodes) {
      node.node = CreateObject<Node>();
      node.table.assign(m_hostCount, kNoPort);
    }
    // Ports in the order of their links: down before up.
    for (uint32_t host = 0; host < m_hostCount; ++host) {
      Link(m_edge + host / m_half, host);
    }
    for (uint32_t pod = 0; pod < settings.k; ++pod) {
      for (uint32_t edge = 0; edge < m_half; ++edge) {
        for (uint32_t a = 0; a < m_half; ++a) {
          Link(m_aggregation + pod * m_half + a, m_edge + pod * m_half + edge);
        }
      }
    }
    for (uint32_t pod = 0; pod < settings.k; ++pod) {
      for (uint32_t core = 0; core < m_half * m_half; ++core) {
        Link(m_core + core, m_aggregation + pod * m_half + core / m_half);
      }
    }
  }

  void AddFlow(const Flow& flow) {
    const uint32_t fromPod = flow.from / (m_half * m_half), toPod = flow.to / (m_half * m_half);
    const uint32_t fromEdge = flow.from / m_half, toEdge = flow.to / m_half;
    if (fromEdge != toEdge) {
      Route(m_edge + fromEdge, flow.to, m_half + flow.aggregation);
      if (fromPod != toPod) {
        Route(m_aggregation + fromPod * m_half + flow.aggregation, flow.to, m_half + flow.core % m_half);
        Route(m_core + flow.core, flow.to, toPod);
      }
      Route(m_aggregation + toPod * m_half + flow.aggregation, flow.to, toEdge % m_half);
    }
    Route(m_edge + toEdge, flow.to, flow.to % m_half);
    m_flows.push_back(flow);
  }

  void Start() {
    if (m_withIp) {
      InstallIp();
    } else {
      InstallForwarding();
    }
    const uint32_t headers = kPppHeader + (m_withIp ? kIpAndUdpHeaders : TargetHeader().GetSerializedSize());
    const int64_t period =
        (int64_t(m_settings.frameBytes) * 8 * 1000000000 + m_settings.flowRate - 1) / m_settings.flowRate;
    for (const auto& flow : m_flows) {
      auto sender = std::make_unique<Sender>();
      sender->payload = m_settings.frameBytes - headers;
      sender->period = NanoSeconds(period);
      NetNode& from = m_nodes[flow.from];
      if (m_withIp) {
        sender->socket = Socket::CreateSocket(from.node, UdpSocketFactory::GetTypeId());
        sender->socket->Bind();
        sender->socket->Connect(InetSocketAddress(AddressOf(flow.to), kUdpPort));
      } else {
        sender->device = from.ports[0];
        sender->header.target = uint16_t(flow.to);
        sender->broadcast = from.ports[0]->GetBroadcast();
      }
      Simulator::ScheduleWithContext(from.node->GetId(), NanoSeconds(flow.start), &Sender::Send, sender.get());
      m_senders.push_back(std::move(sender));
    }
  }

  // Frames that devices have sent or begun to send.
  uint64_t FrameHops() const {
    uint64_t hops = 0;
    for (const auto& node : m_nodes) {
      for (const auto& port : node.ports) {
        auto queue = port->GetQueue();
        hops += queue->GetTotalReceivedPackets() - queue->GetNPackets() - queue->GetTotalDroppedPacketsAfterDequeue();
      }
    }
    return hops;
  }

  uint64_t Dropped() const {
    uint64_t dropped = 0;
    for (const auto& node : m_nodes) {
      for (const auto& port : node.ports) {
        dropped += port->GetQueue()->GetTotalDroppedPackets();
      }
    }
    return dropped;
  }

  uint64_t Sent() const {
    uint64_t sent = 0;
    for (const auto& sender : m_senders) {
      sent += sender->sent;
    }
    return sent;
  }

  uint64_t Received() const {
    uint64_t received = 0;
    for (const auto& node : m_nodes) {
      received += node.received;
    }
    return received;
  }

  uint32_t HostCount() const { return m_hostCount; }
  size_t SwitchCount() const { return m_nodes.size() - m_hostCount; }
  size_t FlowCount() const { return m_flows.size(); }

 private:
  void Link(uint32_t a, uint32_t b) {
    auto channel = CreateObject<PointToPointChannel>();
    channel->SetAttribute("Delay", TimeValue(NanoSeconds(m_settings.delay)));
    for (uint32_t index : {a, b}) {
      auto device = CreateObject<PointToPointNetDevice>();
      device->SetAddress(Mac48Address::Allocate());
      device->SetDataRate(DataRate(m_settings.lineRate));
      device->SetInterframeGap(NanoSeconds(m_settings.gap));
      auto queue = CreateObject<DropTailQueue<Packet>>();
      queue->SetMaxSize(QueueSize("10000p"));
      device->SetQueue(queue);
      device->Attach(channel);
      m_nodes[index].node->AddDevice(device);
      m_nodes[index].ports.push_back(device);
    }
  }

  void Route(uint32_t node, uint32_t host, uint32_t port) { m_nodes[node].table[host] = uint8_t(port); }

  void InstallForwarding() {
    for (uint32_t index = 0; index < m_nodes.size(); ++index) {
      NetNode& node = m_nodes[index];
      for (const auto& port : node.ports) {
        if (index < m_hostCount) {
          port->SetReceiveCallback(MakeCallback(&NetNode::Take, &node));
        } else {
          port->SetReceiveCallback(MakeCallback(&NetNode::Forward, &node));
        }
      }
    }
  }

  void InstallIp() {
    InternetStackHelper stack;
    stack.SetIpv6StackInstall(false);
    stack.SetRoutingHelper(Ipv4ListRoutingHelper());
    for (uint32_t index = 0; index < m_nodes.size(); ++index) {
      NetNode& node = m_nodes[index];
      stack.Install(node.node);
      auto ip = node.node->GetObject<Ipv4>();
      const bool isHost = index < m_hostCount;
      const Ipv4Address self = isHost ? AddressOf(index) : Ipv4Address(0x0b000001 + index);
      for (const auto& port : node.ports) {
        const uint32_t interface = ip->AddInterface(port);
        ip->AddAddress(interface, Ipv4InterfaceAddress(self, Ipv4Mask("255.255.255.255")));
        ip->SetUp(interface);
      }
      auto routing = CreateObject<TableRouting>();
      routing->Fill(node.table, node.ports, self);
      ip->SetRoutingProtocol(routing);
      if (isHost) {
        auto socket = Socket::CreateSocket(node.node, UdpSocketFactory::GetTypeId());
        socket->Bind(InetSocketAddress(Ipv4Address::GetAny(), kUdpPort));
        socket->SetRecvCallback(MakeCallback(&NetNode::TakeFromSocket, &node));
        m_sockets.push_back(socket);
      }
    }
  }

  Settings m_settings;
  uint32_t m_half;
  bool m_withIp;
  // Hosts come first; then each tier begins here.
  uint32_t m_hostCount = 0, m_edge = 0, m_aggregation = 0, m_core = 0;
  std::vector<NetNode> m_nodes;
  std::vector<Flow> m_flows;
  std::vector<std::unique_ptr<Sender>> m_senders;
  std::vector<Ptr<Socket>> m_sockets;
};

double CpuSeconds() {
  timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return double(time.tv_sec) + double(time.tv_nsec) / 1e9;
}

void RunFor(int64_t nanoseconds) {
  Simulator::Stop(NanoSeconds(nanoseconds));
  Simulator::Run();
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (mode != "ip" && mode != "link") {
    std::cerr << "usage: fat_tree ip|link [SCHEDULER] < PLAN\n";
    return 2;
  }
  const std::string scheduler = argc > 2 ? argv[2] : "ns3::PriorityQueueScheduler";
  ObjectFactory factory;
  factory.SetTypeId(scheduler);
  Simulator::SetScheduler(factory);

  Settings s{};
  std::cin >> s.k >> s.frameBytes >> s.lineRate >> s.flowRate >> s.delay >> s.gap >> s.warmUp >> s.measured;
  if (!std::cin || s.k < 2 || s.k % 2 != 0 || s.k > 64) {
    std::cerr << "fat_tree: the plan's settings cannot be read\n";
    return 2;
  }
  double begun = CpuSeconds();
  FatTree tree(s, mode == "ip");
  Flow flow{};
  while (std::cin >> flow.from >> flow.to >> flow.start >> flow.aggregation >> flow.core) {
    if (flow.from >= tree.HostCount() || flow.to >= tree.HostCount() || flow.aggregation >= s.k / 2 ||
        flow.core >= s.k * s.k / 4) {
      std::cerr << "fat_tree: a flow names what does not exist\n";
      return 2;
    }
    tree.AddFlow(flow);
  }
  tree.Start();
  const double build = CpuSeconds() - begun;
  RunFor(s.warmUp);
  const uint64_t hopsBefore = tree.FrameHops(), eventsBefore = Simulator::GetEventCount();
  begun = CpuSeconds();
  RunFor(s.measured);
  const double cpu = CpuSeconds() - begun;
  std::cout << "{\"switches\":" << tree.SwitchCount() << ",\"hosts\":" << tree.HostCount()
            << ",\"flows\":" << tree.FlowCount() << ",\"events\":" << Simulator::GetEventCount() - eventsBefore
            << ",\"frame_hops\":" << tree.FrameHops() - hopsBefore << ",\"cpu_seconds\":" << cpu
            << ",\"build_cpu_seconds\":" << build << ",\"sent\":" << tree.Sent()
            << ",\"received\":" << tree.Received() << ",\"dropped\":" << tree.Dropped() << "}" << std::endl;
  // Tearing down what is left would take longer than the run.
  std::_Exit(0);
}
