// Package kubecontract tests the behaviour of a Kubernetes API server that
// the parts of xdsbench rely on. It runs the same against fakekube and against
// a real kube-apiserver, which is what keeps the two alike.
//
// The server under test needs no controllers, must allow its client
// everything, and may hold other objects. Run leaves namespaces behind.
package kubecontract
