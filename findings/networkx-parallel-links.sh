#!/bin/sh
# NetworkX counts parallel links once when it asks how many may fail.
#
# Version:  networkx 3.6.1 (PyPI)
# Expected: two switches with two links (MultiGraph) have edge connectivity 2, a minimum edge cut of both links, and two
#           edge-disjoint paths.
# Seen:     edge_connectivity without nodes says 2, with the same two nodes 1; minimum_edge_cut is one pair, and taking one
#           of the links away leaves the switches connected; one disjoint path. No error, although maximum_flow refuses
#           a MultiGraph. With three switches in a row, edge_connectivity without nodes is 1 too.
# Output:   edge_connectivity 2
#           edge_connectivity between 1
#           minimum_edge_cut 1, connected without it True
#           edge_disjoint_paths 1
#           three in a row 1
. "$(dirname "$0")/lib.sh"
pip_packages networkx==3.6.1
seen=$(python - <<'PYTHON' 2>&1
import networkx as nx

pair = nx.MultiGraph([("a", "b"), ("a", "b")])
print("edge_connectivity", nx.edge_connectivity(pair))
print("edge_connectivity between", nx.edge_connectivity(pair, "a", "b"))
cut, rest = nx.minimum_edge_cut(pair), pair.copy()
rest.remove_edges_from(cut)
print(f"minimum_edge_cut {len(cut)}, connected without it {nx.is_connected(rest)}")
print("edge_disjoint_paths", len(list(nx.edge_disjoint_paths(pair, "a", "b"))))
print("three in a row", nx.edge_connectivity(nx.MultiGraph([("a", "b"), ("a", "b"), ("b", "c"), ("b", "c")])))
PYTHON
)
same "$seen" "edge_connectivity 2
edge_connectivity between 1
minimum_edge_cut 1, connected without it True
edge_disjoint_paths 1
three in a row 1"
