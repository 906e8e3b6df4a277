package xla

import (
	"strings"
	"testing"

	"github.com/gomlx/compute"
)

// few is a backend with so many devices.
type few struct {
	compute.Backend
	devices int
	ended   bool
}

func (f *few) NumDevices() int { return f.devices }
func (f *few) Finalize()       { f.ended = true }

// TestDevicesOf: no device, and more than there are, end the backend and say so.
func TestDevicesOf(t *testing.T) {
	for _, c := range []struct {
		there, asked, got int
		says              string
	}{
		{0, 0, 0, "finds no device"},
		{0, 1, 0, "finds no device"},
		{2, 3, 0, "3 devices of cuda: this machine has 2"},
		{2, 0, 2, ""},
		{2, 1, 1, ""},
	} {
		b := &few{devices: c.there}
		d, err := devicesOf(b, "cuda", c.asked)
		if len(d) != c.got || (err != nil) != b.ended || (err != nil) != (c.says != "") ||
			err != nil && !strings.Contains(err.Error(), c.says) {
			t.Errorf("%+v: %d devices, %v, ended %v", c, len(d), err, b.ended)
		}
	}
}
