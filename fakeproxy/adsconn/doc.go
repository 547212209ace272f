// Package adsconn opens ADS streams over HTTP/2 with grpc-go, cheaply: messages are
// handed over as the bytes they came in, with the kernel's time of their arrival;
// buffers are taken from a pool only while there is something in them; frames leave
// as soon as they are whole.
//
// Everything that waits for the peer is bounded, or ends with the stream's context:
// dialling and the exchange of settings by connectTimeout, opening by openTimeout,
// and closing by closeTimeout. Receiving and sending are not bounded of their own, as
// Envoy's are not: a control plane may well have nothing to say for hours. They end
// with the context.
package adsconn
