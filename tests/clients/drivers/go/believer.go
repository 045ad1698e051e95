package main

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand"
	"os"
	"strconv"
	"syscall"
	"time"
	"unsafe"

	"pawl"
)

const (
	clockBoottime = 7
	period        = 10 * time.Millisecond
	holdMost      = 3 * time.Second
	runsOut       = 0.1 // the part of the locks that are not extended
)

func bootUs() int64 {
	var at syscall.Timespec
	_, _, errno := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockBoottime, uintptr(unsafe.Pointer(&at)), 0)
	if errno != 0 {
		panic(errno)
	}
	return at.Nano() / 1000
}

func writeLine(words ...any) {
	file, err := os.OpenFile(os.Getenv("PAWL_BELIEF_FILE"), os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		panic(err)
	}
	defer file.Close()
	if _, err := file.WriteString(fmt.Sprintln(words...)); err != nil {
		panic(err)
	}
}

// watchBelief asks for a time, or until the answer is no. It asks once more after each pause: a process may have been
// stopped.
func watchBelief(lock *pawl.Lock, most time.Duration) {
	until, began := bootUs()+most.Microseconds(), int64(0)
	for began == 0 || began < until {
		end := bootUs()
		if !lock.Held() {
			writeLine("LOST", bootUs(), lock.Token(), lock.ID())
			return
		}
		if began != 0 {
			writeLine(began, end, lock.Token(), lock.ID())
		}
		began = bootUs()
		time.Sleep(period)
	}
}

func believeOnce(client *pawl.Client) error {
	request := pawl.Request{Name: os.Getenv("PAWL_NAME"), Wait: 2 * time.Second,
		TTL: time.Second + time.Duration(rand.Int63n(int64(time.Second)))}
	if rand.Float64() < runsOut {
		lock, err := client.Acquire(context.Background(), request)
		if err == nil {
			watchBelief(lock, 2*holdMost)
		}
		return err
	}
	return client.Do(context.Background(), request, func(_ context.Context, lock *pawl.Lock) error {
		watchBelief(lock, time.Duration(float64(holdMost)*math.Pow(rand.Float64(), 6)))
		return nil
	})
}

// believe is the believer of the client for Go: tests/system/client/README.md.
func believe() {
	rand.Seed(time.Now().UnixNano())
	client, err := pawl.New(pawl.Options{})
	if err != nil {
		panic(err)
	}
	seconds, _ := strconv.ParseFloat(os.Getenv("PAWL_SECONDS"), 64)
	for until := bootUs() + int64(seconds*1e6); bootUs() < until; {
		err := believeOnce(client)
		for _, usual := range []pawl.Kind{pawl.ErrHeld, pawl.ErrLost, pawl.ErrUnavailable, pawl.ErrExhausted} {
			if errors.Is(err, usual) {
				err = nil
				time.Sleep(period)
			}
		}
		if err != nil {
			panic(err)
		}
	}
}
