package pawl

import (
	"syscall"
	"time"
	"unsafe"
)

const (
	clockBoottime = 7
	atFdcwd       = -100
	atEaccess     = 0x200
	wOK           = 2
)

// The part of each validity that is taken off. CLOCK_BOOTTIME counts suspension.
const margin = 0.0

// now returns the time on the clock of all deadlines.
func now() time.Duration {
	var at syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)), 0)
	if errno != 0 {
		panic("pawl: this kernel has no CLOCK_BOOTTIME")
	}
	return time.Duration(at.Nano())
}

func mayConnect(path string) bool {
	return syscall.Faccessat(atFdcwd, path, wOK, atEaccess) == nil
}
