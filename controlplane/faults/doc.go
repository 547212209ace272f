// Package faults injects known faults into the control plane, so that whatever
// measures it can be checked. Environment variables with the prefix
// XDSBENCH_FAULT_ ask for faults, and a record says what was injected. Without
// these variables none of this code runs.
//
// This package only decides and records; package discovery, which sends to
// proxies, asks it. DELAY, UNSERVED, STALE, LOST, DUPLICATE and CPU affect pushes
// only, not the answers to requests.
//
//	XDSBENCH_FAULT_DELAY          holds back each push to each proxy: a sum of
//	                              terms 10ms, uniform(1ms,5ms), exponential(10ms),
//	                              drawn for each push, and spread(100ms), fixed
//	                              per proxy
//	XDSBENCH_FAULT_UNSERVED       share of proxies that get no pushes
//	XDSBENCH_FAULT_STALE          share of (proxy, cluster) pairs that always get
//	                              the endpoints that the proxy got first
//	XDSBENCH_FAULT_LOST           N: every Nth endpoint update reaches no proxy
//	                              until the next update of the same cluster
//	XDSBENCH_FAULT_DUPLICATE      share of pushed responses that are sent twice
//	XDSBENCH_FAULT_CPU            CPU time added to each push to each proxy
//	XDSBENCH_FAULT_ORDER          share of proxies that, on connecting, get the
//	                              endpoints of three clusters before the clusters
//	XDSBENCH_FAULT_LATE_CLUSTERS  every proxy gets the first half of the EDS
//	                              clusters, by name, on connecting, and the other
//	                              half this much later, such as 10s
//	XDSBENCH_FAULT_UNANSWERED     what is neither answered nor pushed, while the
//	                              streams stay open: a list of types (cds, eds,
//	                              lds, rds), variants (sotw, delta) or both
//	                              (sotw/cds), separated by commas
//	XDSBENCH_FAULT_SILENT_AFTER   how long to serve before nothing is sent any
//	                              more, while the streams stay open; 0s never
//	                              sends anything
//	XDSBENCH_FAULT_SILENT_HTTP    true: /metrics, /debug/syncz and all other pages
//	                              stop answering then, too
//	XDSBENCH_FAULT_TYPES          the types that UNSERVED, STALE, LOST and DUPLICATE
//	                              are for, such as cds,rds; without it STALE and
//	                              LOST are for eds, the others for all. What is
//	                              lost or stale is then a cluster, a listener, or
//	                              a route configuration (STALE) or the virtual
//	                              hosts of a service (LOST), or the lack of one,
//	                              and the updates of one type of one service
//	                              count as one
//	XDSBENCH_FAULT_SEED           decides who is chosen and what is drawn (1)
//	XDSBENCH_FAULT_FILE           where to write the record at the end
//
// Delays are accurate to a few tens of microseconds on an idle machine, and the
// record holds the actual ones. A delayed push is held back when it is ready to
// be sent: it takes no slot of PILOT_PUSH_THROTTLE and does not hold up the next
// one, but pushes to one proxy stay in order.
package faults
