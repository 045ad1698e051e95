//go:build !linux

package pawl

import (
	"net"
	"time"
)

// The part of each validity that is taken off: the monotonic clock of these systems may not count suspension.
const margin = 0.1

var began = time.Now()

// now returns the time on the clock of all deadlines.
func now() time.Duration { return time.Since(began) }

func mayConnect(path string) bool {
	connection, err := net.DialTimeout("unix", path, connectTimeout)
	if err != nil {
		return false
	}
	_ = connection.Close()
	return true
}
