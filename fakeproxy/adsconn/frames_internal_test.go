package adsconn

import (
	"bytes"
	"testing"

	"golang.org/x/net/http2"
	"google.golang.org/grpc/mem"
	"pgregory.net/rapid"
)

// recorder keeps what each write was given.
type recorder struct{ writes [][]byte }

func (r *recorder) Write(b []byte) (int, error) {
	r.writes = append(r.writes, bytes.Clone(b))
	return len(b), nil
}

// TestEachFrameIsOneWriteAndLeavesWhenItIsWhole writes frames as grpc-go does: some
// at once, those of data in pieces.
func TestEachFrameIsOneWriteAndLeavesWhenItIsWhole(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var to recorder
		w := &frameWriter{to: &to, pool: mem.DefaultBufferPool()}
		write := func(b []byte) {
			if n, err := w.Write(b); n != len(b) || err != nil {
				t.Fatalf("Write of %d bytes = %d, %v", len(b), n, err)
			}
		}
		write([]byte(http2.ClientPreface))
		want := [][]byte{[]byte(http2.ClientPreface)}
		for range rapid.IntRange(0, 20).Draw(t, "frames") {
			payload := rapid.SliceOfN(rapid.Byte(), 0, 20_000).Draw(t, "payload")
			n := len(payload)
			frame := append([]byte{byte(n >> 16), byte(n >> 8), byte(n), 0, 0, 0, 0, 0, 1}, payload...)
			pieces := append(rapid.SliceOfDistinct(rapid.IntRange(frameHeader, len(frame)), rapid.ID[int]).Draw(t, "cuts"), len(frame))
			from := 0
			for _, to := range pieces {
				if to > from {
					write(frame[from:to])
					from = to
				}
			}
			want = append(want, frame)
			if len(to.writes) != len(want) {
				t.Fatalf("%d writes for %d frames", len(to.writes), len(want))
			}
		}
		for i := range want {
			if !bytes.Equal(to.writes[i], want[i]) {
				t.Fatalf("write %d is %d bytes, want the frame of %d", i, len(to.writes[i]), len(want[i]))
			}
		}
	})
}

func TestWhatAreNoFramesIsPassedOn(t *testing.T) {
	whole := []byte{0, 0, 1, 0, 0, 0, 0, 0, 1, 'x'}
	for name, writes := range map[string][][]byte{
		"half a header":       {whole[:4], whole[4:]},
		"two frames at once":  {append(bytes.Clone(whole), whole...), whole},
		"more than the frame": {whole[:9], append([]byte{'x'}, whole...), whole},
	} {
		t.Run(name, func(t *testing.T) {
			var to recorder
			w := &frameWriter{to: &to, pool: mem.DefaultBufferPool()}
			for _, b := range writes {
				if n, err := w.Write(b); n != len(b) || err != nil {
					t.Fatalf("Write = %d, %v", n, err)
				}
			}
			if got, want := bytes.Join(to.writes, nil), bytes.Join(writes, nil); !bytes.Equal(got, want) {
				t.Errorf("wrote %q, want %q", got, want)
			}
		})
	}
}
