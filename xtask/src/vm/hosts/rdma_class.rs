//! Priorities of soft-RoCE frames, as requested by a program.

use anyhow::{ensure, Context, Result};

use super::{line, Hosts};

const MESSAGES: u64 = 20;
/// Runs of `ib_write_bw` over one cable. Each prints the frames of priority 3 sent by the client's end and the server's end.
const STEPS: &str = r#"
cable
rdma='sh /etc/netns-scripts/rdma.sh ib_write_bw -d DEV --size 1024 --qp-timeout 20'
classify() { for n in a b; do in_ns $n weir-host attach eth0 --rate 100Mbit --priorities $1 > /dev/null; done; }
sent() { in_ns $1 weir-host metrics | awk '/^weir_host_sent_frames_total.*priority="3"/ { print $NF }'; }
listening() { in_ns b netstat -ltn | grep -q ':18515 '; }
# run NAME TO CLIENT-OPTIONS SERVER-OPTIONS
run() {
    before="$(sent a) $(sent b)"
    nsenter --net=/run/netns/b $rdma --iters $messages $4 > /tmp/server 2>&1 & server=$!
    case "$4" in *-R*) sleep 2;; *) wait_until 30 listening;; esac
    in_ns a timeout 60 $rdma --iters $messages $3 $2 > /tmp/client 2>&1 || { cat /tmp/client /tmp/server; return 1; }
    wait $server
    echo "$1 $before $(sent a) $(sent b)"
}
classify dscp
run client 10.2.0.2 '--tclass 96' ''
run both 10.2.0.2 '--tclass 96' '--tclass 96'
run manager 10.2.0.2 '-R --tclass 96' '-R --tclass 96'
# tagged VLAN MAP: a VLAN device at both ends
tagged() {
    for end in a:1 b:2; do
        n=${end%:*}
        in_ns $n ip link add link eth0 name tagged$1 type vlan id $1 egress-qos-map $2
        in_ns $n ip addr add 10.$1.0.${end#*:}/24 dev tagged$1
        in_ns $n ip link set tagged$1 up
    done
}
tagged 5 3:3
tagged 6 0:3
if in_ns a rdma link add tagged type rxe netdev tagged5; then exit 1; fi
classify vlan
run tagged 10.5.0.2 '--tclass 96' '--tclass 96'
run mapped 10.6.0.2 '--tclass 96' '--tclass 96'
"#;

/// The traffic class applies only at the end that requests it, and not if the connection manager connects. It does not
/// affect the PCP, which follows from priority 0; a VLAN device has no soft-RoCE.
pub fn check(hosts: &Hosts<'_>) -> Result<String> {
    let result = hosts.steps(200, &format!("messages={MESSAGES}\n{STEPS}"));
    hosts.clean_up("uncable; wait_until 60 sh -c '! rdma link show | grep -q .'");
    let said = result?;
    let mut text = String::new();
    let mut sent = |name: &str| -> Result<[u64; 2]> {
        let found = said.lines().find_map(|line| line.strip_prefix(name));
        let numbers = found.with_context(|| said.clone())?.split_whitespace();
        let numbers: Vec<u64> = numbers.map(str::parse).collect::<Result<_, _>>()?;
        let [client, server, client_after, server_after] = numbers[..] else {
            anyhow::bail!("{said}");
        };
        let sent = [client_after - client, server_after - server];
        line(
            &mut text,
            format_args!(
                "{name}: {} and {} frames of priority 3 from client and server",
                sent[0], sent[1]
            ),
        );
        Ok(sent)
    };
    let [client, both, manager] = [sent("client")?, sent("both")?, sent("manager")?];
    let [tagged, mapped] = [sent("tagged")?, sent("mapped")?];
    ensure!(client[0] >= MESSAGES && client[1] == 0, "{text}");
    ensure!(both[0] >= MESSAGES && both[1] > 0, "{text}");
    ensure!(manager == [0, 0] && tagged == [0, 0], "{text}");
    ensure!(mapped.iter().all(|sent| *sent > 0), "{text}");
    Ok(text)
}
