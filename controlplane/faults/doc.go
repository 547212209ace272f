// Package faults injects known faults into the control plane, to check what
// measures it: variables with the prefix XDSBENCH_FAULT_ ask for them, and a
// record says what was done. Without these variables nothing of it runs.
//
// The package decides and records; what sends to proxies asks it. DELAY,
// UNSERVED, STALE, LOST, DUPLICATE and CPU concern pushes alone, not the answers
// to requests.
//
//	XDSBENCH_FAULT_DELAY          holds back each push to each proxy: a sum of
//	                              terms 10ms, uniform(1ms,5ms), exponential(10ms),
//	                              drawn anew each time, and spread(100ms), fixed
//	                              per proxy
//	XDSBENCH_FAULT_UNSERVED       share of proxies that get no push
//	XDSBENCH_FAULT_STALE          share of pairs of proxy and cluster that get,
//	                              for ever, the endpoints that the proxy first got
//	XDSBENCH_FAULT_LOST           N: every Nth endpoint update of a cluster reaches
//	                              nobody, until the cluster's next one
//	XDSBENCH_FAULT_DUPLICATE      share of responses that are sent twice
//	XDSBENCH_FAULT_CPU            CPU time that each push to each proxy costs more
//	XDSBENCH_FAULT_ORDER          share of proxies that, on connecting, get the
//	                              endpoints of three clusters before the clusters
//	XDSBENCH_FAULT_LATE_CLUSTERS  proxies get the first half of the EDS clusters,
//	                              by name, on connecting, and the others after
//	                              this time
//	XDSBENCH_FAULT_UNANSWERED     what is never answered nor pushed, on streams
//	                              that stay open: a list of types (cds, eds, lds,
//	                              rds), variants (sotw, delta) or both (sotw/cds)
//	XDSBENCH_FAULT_SILENT_AFTER   after this time of serving, nothing is sent any
//	                              more, on streams that stay open; 0s is from the
//	                              start
//	XDSBENCH_FAULT_SILENT_HTTP    true: from then on /metrics, /debug/syncz and all
//	                              other pages do not answer either
//	XDSBENCH_FAULT_SEED           decides who is chosen and what is drawn (1)
//	XDSBENCH_FAULT_FILE           where to write the record at the end
//
// Delays are kept to a few tens of microseconds on an idle machine, and the
// record holds what they were in fact. A delayed push is held back when it is
// ready to be sent: it takes no slot of PILOT_PUSH_THROTTLE and does not hold
// up the next one, but pushes to one proxy stay in order.
package faults
