// Package realstack gives tests a real Kubernetes API server: etcd and
// kube-apiserver on loopback, with Istio's CRDs and the namespace istio-system.
// Such tests carry the build tag realstack, and a name that contains "Real".
//
// The binaries are those that internal/realstack/build.sh makes; the
// environment variable XDSBENCH_REAL_BIN names their directory.
package realstack
