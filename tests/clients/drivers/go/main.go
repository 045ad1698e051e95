// The driver of the client for Go: ../../README.md has the commands.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"pawl"
)

var (
	client *pawl.Client
	lock   *pawl.Lock
)

var (
	errLeftOut = errors.New("Go programs do not fork")
	errEnds    = errors.New("os.Exit ends a program of Go at once")
)

// ms reads a time; "-": the default. noWait: 0 is not to wait.
func ms(text string, zero time.Duration) time.Duration {
	value, _ := strconv.ParseInt(text, 10, 64)
	if value == 0 && text != "-" {
		return zero
	}
	return time.Duration(value) * time.Millisecond
}

func tokens() string {
	return strings.Trim(fmt.Sprint(lock.Tokens()), "[]")
}

func said(state pawl.State) string {
	if !state.Held {
		return "free"
	}
	return fmt.Sprintf("held %d %s", state.Token, state.Owner)
}

func watch(wait, count, name string) (string, error) {
	var told []string
	left, _ := strconv.Atoi(count)
	watch, err := client.Watch(name, ms(wait, pawl.NoWait))
	for err == nil && len(told) < left {
		var state pawl.State
		if state, err = watch.Next(context.Background()); err == nil {
			told = append(told, said(state))
		}
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return strings.Join(told, ", "), err
}

func take(request pawl.Request) (err error) {
	got, err := client.Acquire(context.Background(), request)
	if err == nil {
		lock = got
	}
	return err
}

func run(words []string) (value string, err error) {
	none := context.Background()
	switch words[0] {
	case "client":
		options := pawl.Options{CallTimeout: ms(words[1], 0)}
		if words[2] != "-" {
			options.Servers = strings.Fields(words[2])
		}
		if len(words) > 3 {
			options.Key = words[3]
		}
		client, err = pawl.New(options)
	case "acquire":
		request := pawl.Request{Names: words[4:], Wait: ms(words[1], pawl.NoWait), TTL: ms(words[2], 0)}
		if words[3] != "-" {
			request.Owner = words[3]
		}
		if err = take(request); err == nil {
			value = tokens()
		}
	case "seat":
		permits, _ := strconv.Atoi(words[3])
		err = take(pawl.Request{Name: words[4], Wait: ms(words[1], pawl.NoWait), TTL: ms(words[2], 0), Permits: permits})
		if err == nil {
			value = fmt.Sprint(lock.Seat(), " ", tokens())
		}
	case "rwlock":
		err = take(pawl.Request{Name: words[4], Wait: ms(words[1], pawl.NoWait), TTL: ms(words[2], 0), Mode: pawl.Mode(words[3])})
		if err == nil && lock.Seat() >= 0 {
			value = fmt.Sprint(lock.Seat(), " ", tokens())
		} else if err == nil {
			value = tokens()
		}
	case "delayed":
		if err = take(pawl.Request{Name: words[3], Delay: ms(words[1], 0), TTL: ms(words[2], 0)}); err == nil {
			value = tokens()
		}
	case "keep":
		var released bool
		released, err = lock.ReleaseAndKeep(ms(words[1], 0))
		value = fmt.Sprint(released)
	case "close":
		client.Close()
	case "extend":
		err = lock.Extend(none, ms(words[1], 0))
		value = tokens()
	case "release":
		var released bool
		released, err = lock.Release()
		value = fmt.Sprint(released)
	case "left":
		value = fmt.Sprint(lock.Left().Milliseconds())
	case "renew":
		err = lock.Renew(0, nil)
	case "stopped":
		<-lock.Stopped()
		value = fmt.Sprint(lock.Left().Milliseconds())
	case "nested":
		request := pawl.Request{Name: words[2], TTL: 5 * time.Second}
		err = client.Do(none, request, func(ctx context.Context, _ *pawl.Lock) error {
			request.Wait = ms(words[1], pawl.NoWait)
			_, err := client.Acquire(ctx, request)
			return err
		})
	case "cancel":
		ctx, cancel := context.WithTimeout(none, ms(words[1], 0))
		defer cancel()
		_, err = client.Acquire(ctx, pawl.Request{Name: words[2]})
	case "watch":
		value, err = watch(words[1], words[2], words[3])
	case "counter":
		var last, count int64
		count, _ = strconv.ParseInt(words[1], 10, 64)
		last, err = client.Next(none, words[2], count)
		value = fmt.Sprint(last)
	case "inspect":
		var state pawl.State
		state, err = client.Inspect(none, words[1])
		value = said(state)
	case "leave": // whoever wanted the work no longer does
		ctx, cancel := context.WithTimeout(none, 300*time.Millisecond)
		defer cancel()
		err = client.Do(ctx, pawl.Request{Name: words[1], TTL: 5 * time.Second}, func(ctx context.Context, _ *pawl.Lock) error {
			<-ctx.Done()
			return ctx.Err()
		})
	case "interrupt":
		ctx, cancel := context.WithTimeout(none, 300*time.Millisecond)
		defer cancel()
		request := pawl.Request{Name: words[1], TTL: 5 * time.Second}
		err = client.Do(ctx, request, func(context.Context, *pawl.Lock) error { return nil })
	case "handle":
		signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR1)
	case "threads":
		value = fmt.Sprint(runtime.NumGoroutine())
	case "group":
	case "end":
		return "", errEnds
	default:
		return "", errLeftOut
	}
	return value, err
}

func main() {
	if len(os.Args) > 1 && os.Args[1] == "believe" {
		believe()
		return
	}
	lines := bufio.NewScanner(os.Stdin)
	for lines.Scan() {
		kind, text := "ok", ""
		value, err := run(strings.Split(lines.Text(), "\t"))
		var failed *pawl.Error
		if errors.As(err, &failed) {
			kind, text = string(failed.Kind), fmt.Sprint(err, " ", failed.Type, " ", failed.Name, " ", failed.Owner)
		} else if errors.Is(err, errLeftOut) || errors.Is(err, errEnds) {
			kind, text = "none", err.Error()
		} else if errors.Is(err, context.DeadlineExceeded) {
			kind = "cancelled"
		} else if err != nil {
			kind = err.Error()
		}
		fmt.Printf("%s\t%s\t%s\n", kind, value, strings.ReplaceAll(text, "\n", " "))
	}
}
