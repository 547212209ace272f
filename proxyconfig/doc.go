// Package proxyconfig writes what one fake proxy holds as tables for a terminal,
// in the manner of `istioctl proxy-config`.
package proxyconfig
