// Package pawl is a client of Pawl: locks with fencing tokens, over HTTP. It uses the standard library only.
//
//	client, err := pawl.New(pawl.Options{}) // the servers of PAWL_SERVER
//	...
//	err = client.Do(ctx, pawl.Request{Name: "orders/42", TTL: 30 * time.Second},
//		func(ctx context.Context, lock *pawl.Lock) error {
//			return writeGuarded(ctx, lock.Token()) // the data refuses an older token
//		})
//
// Do extends the lock in the background, each time a third of the lease has passed, and cancels ctx in time where
// that fails. Acquire leaves that to the caller: Lock.Renew, Lock.Extend, Lock.Release.
//
// A deadline is the time that the request was sent, plus the answer's served_ms and validity_ms. On Linux the clock
// is CLOCK_BOOTTIME, which counts suspension. Elsewhere it is the monotonic clock of Go, and a tenth of each validity
// is taken off. So Lock.Held is right however late an answer came, and after a process was stopped.
//
// A holder that is stopped past its deadline still believes that it holds the lock, until it asks again. No client can
// prevent that. Send the token along with every write, and check the token where the write lands.
//
// A call waits for a lock without end, unless Request.Wait says how long. No proxy is ever used. Answers of a gateway
// (502, 503, 504, 408, a page of HTML) and connections that a gateway cuts end no wait.
//
// A Client and a Lock may be used by any number of goroutines. Go programs do not fork: a child of os/exec inherits
// no client and no lock.
package pawl

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"os"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unicode/utf8"
)

// The servers of a client that is given none, where PAWL_SERVER is not set: the socket, where this process may
// connect to it, or else the URL.
const (
	ServerDefault = "http://127.0.0.1:7380"
	SocketDefault = "unix:/run/pawl/pawld.sock"
)

// A Mode is how a read-write lock is held.
type Mode string

const (
	Read  Mode = "read"  // with other readers
	Write Mode = "write" // alone
)

// NoWait is a Request.Wait: the call does not wait for a lock that another one holds.
const NoWait time.Duration = -1

const (
	serversMax    = 8
	namesMax      = 64 // that one lock can have
	permitsMax    = 64 // of a semaphore
	readersMax    = 63 // seats that a fleet may have for a read-write lock
	nameMax       = 255
	ownerMax      = 128
	keyMax        = 127
	socketPathMax = 107
	answerMax     = 4 << 20 // bytes of a body
	headMax       = 64 << 10
	depthMax      = 2048 // of an answer
	tokenMax      = 1<<53 - 1
	ttlMax        = 24 * time.Hour // no fleet allows a longer lease

	callTimeoutDefault = 5 * time.Second
	callTimeoutMax     = 600 * time.Second
	connectTimeout     = 2 * time.Second
	keepAlive          = 10 * time.Second
	waitStep           = 60 * time.Second      // what one request waits at most: a stopped server is noticed then
	watchStep          = 50 * time.Second      // of a watch; proxies cut after 60 s, commonly
	pauseLeast         = 50 * time.Millisecond // between two attempts, doubled each time
	pauseMost          = time.Second
	cutLeast           = 500 * time.Millisecond // a request that waited so long reached a pawld or a gateway
	late               = 500 * time.Millisecond // to release a lock whose validity has ended
	napMost            = 500 * time.Millisecond // of the renewer: timers do not count suspension
	servedSlack        = time.Second            // two clocks, and their steps
	forever            = time.Duration(math.MaxInt64)
	unixPrefix         = "unix:"
)

// ---- text of others

func isOdd(r rune) bool {
	return r < 0x20 || r >= 0x7f && r <= 0x9f || r == 0x61c || r == 0x200e || r == 0x200f ||
		r >= 0x2028 && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// plain returns text fit for terminals and lines of logs: a server may be anybody's. Each byte of a control
// character becomes \xNN, also of a change of the direction of writing.
func plain(text string) string {
	var out strings.Builder
	for at := 0; at < len(text); {
		r, size := utf8.DecodeRuneInString(text[at:])
		if isOdd(r) || r == utf8.RuneError && size == 1 {
			for _, one := range []byte(text[at : at+size]) {
				fmt.Fprintf(&out, "\\x%02x", one)
			}
		} else {
			out.WriteString(text[at : at+size])
		}
		at += size
	}
	return out.String()
}

// hasHalves reports whether a string of the valid JSON text has a NUL or half of a surrogate pair.
func hasHalves(text []byte) bool {
	unit := func(at int) int64 {
		if at+6 > len(text) || text[at] != '\\' || text[at+1] != 'u' {
			return -1
		}
		value, err := strconv.ParseInt(string(text[at+2:at+6]), 16, 32)
		if err != nil {
			return -1
		}
		return value
	}
	for at := 0; at < len(text); {
		if text[at] != '\\' {
			at++
			continue
		}
		value := unit(at)
		if value < 0 {
			at += 2
			continue
		}
		at += 6
		if value >= 0xd800 && value < 0xdc00 {
			second := unit(at)
			if second < 0xdc00 || second > 0xdfff {
				return true
			}
			at += 6
		} else if value == 0 || value >= 0xdc00 && value <= 0xdfff {
			return true
		}
	}
	return false
}

var errAnswer = errors.New("not an answer of a pawld")

func readNumber(text string) (any, error) {
	if strings.ContainsAny(text, ".eE") {
		value, err := strconv.ParseFloat(text, 64)
		return value, err
	}
	value, err := strconv.ParseInt(text, 10, 64)
	return value, err
}

func readValue(decoder *json.Decoder, depth int) (any, error) {
	token, err := decoder.Token()
	if err != nil || depth > depthMax {
		return nil, errAnswer
	}
	switch value := token.(type) {
	case string:
		return plain(value), nil
	case json.Number:
		return readNumber(value.String())
	case json.Delim:
		return readParts(decoder, value, depth)
	}
	return token, nil
}

func readParts(decoder *json.Decoder, open json.Delim, depth int) (any, error) {
	members, items := map[string]any{}, []any{}
	for decoder.More() {
		name := ""
		if open == '{' {
			token, err := decoder.Token()
			text, isText := token.(string)
			if err != nil || !isText || plain(text) != text {
				return nil, errAnswer
			}
			name = text
		}
		value, err := readValue(decoder, depth+1)
		if err != nil {
			return nil, err
		}
		members[name] = value
		items = append(items, value)
	}
	if _, err := decoder.Token(); err != nil {
		return nil, err
	}
	if open == '{' {
		return members, nil
	}
	return items, nil
}

// parseAnswer returns an answer as JSON with plain strings. Of members with the same name the last one counts, and
// none may be wrong. All clients refuse the same answers.
func parseAnswer(body []byte) (any, bool) {
	if !utf8.Valid(body) || !json.Valid(body) || hasHalves(body) {
		return nil, false
	}
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	value, err := readValue(decoder, 0)
	return value, err == nil
}

// ---- errors

// A Kind is what an Error means for the caller: errors.Is(err, pawl.ErrHeld).
type Kind string

func (kind Kind) Error() string { return "pawl: " + string(kind) }

const (
	ErrHeld        Kind = "held"        // another one holds the lock, and did until the wait ended: try later
	ErrLost        Kind = "lost"        // the lock is no longer held: stop the work
	ErrNewGrant    Kind = "new-grant"   // an extension acquired the lock again, and another one may have held it in between. It is ErrLost, too
	ErrUnavailable Kind = "unavailable" // no server answered, or none has a majority: try later. A held lock stays so until its deadline
	ErrExhausted   Kind = "exhausted"   // the lock has reached its extension limit; it is held until its deadline
	ErrRefused     Kind = "refused"     // retrying will not help: read the message
	ErrInvalid     Kind = "invalid"     // an argument is wrong: do not repeat
	ErrProtocol    Kind = "protocol"    // the answer did not come from a pawld: check the address
	ErrCancelled   Kind = "cancelled"   // the context ended; errors.Is(err, context.Canceled) holds, too
)

// An Error is what all calls of this package return.
type Error struct {
	Kind       Kind
	Type       string        // the type of the problem, such as "no-quorum"; "": there is none
	Name       string        // of the lock; "": not known, or several
	Owner      string        // label of the holder, of ErrHeld
	RetryAfter time.Duration // until the holder's lease ends unless it is extended; -1: not known
	Token      int64         // of ErrNewGrant: the new token

	message string
	isNamed bool // the message has the name of the lock
	cause   error
	reached bool // the request may have reached a server
	cut     bool // the connection was closed then, without an answer
	foreign bool // the answer did not come from a pawld
}

func (e *Error) Error() string { return plain(e.message) }

func (e *Error) Unwrap() error { return e.cause }

// Is makes errors.Is(err, pawl.ErrHeld) work.
func (e *Error) Is(target error) bool {
	return target == e.Kind || target == ErrLost && e.Kind == ErrNewGrant
}

func failure(kind Kind, format string, arguments ...any) *Error {
	return &Error{Kind: kind, RetryAfter: -1, message: fmt.Sprintf(format, arguments...)}
}

// about adds to err that names could not be acquired, say.
func about(err *Error, verb string, names []string) *Error {
	if err.isNamed {
		return err
	}
	more := ""
	if len(names) > 1 {
		more = fmt.Sprintf(" and %d more", len(names)-1)
	} else {
		err.Name = names[0]
	}
	err.message = fmt.Sprintf("cannot %s %s%s: %s", verb, names[0], more, err.message)
	err.isNamed = true
	return err
}

var problems = map[string]Kind{
	"held": ErrHeld, "wait-timeout": ErrHeld, "contended": ErrHeld,
	"lock-lost": ErrLost, "lock-broken": ErrLost,
	"extensions-exhausted": ErrExhausted,
	"no-quorum":            ErrUnavailable, "too-slow": ErrUnavailable, "not-ready": ErrUnavailable,
	"no-memory": ErrUnavailable, "stopping": ErrUnavailable, "busy": ErrUnavailable,
	"too-many-waiters": ErrUnavailable, "request-timeout": ErrUnavailable,
}

var ttlRange = regexp.MustCompile(`ttl_ms is (\d+); it must be from (\d+) to (\d+)`)

// ownWords returns what a server says of a request, in the words and units of this package.
func ownWords(detail string) string {
	detail = ttlRange.ReplaceAllString(detail, "TTL is ${1}ms; it must be from ${2}ms to ${3}ms")
	return strings.Replace(detail, "The resource must", "A name must", 1)
}

// ---- answers

type answer struct {
	server  string
	sent    time.Duration
	took    time.Duration
	status  int
	json    map[string]any
	kind    string // the type of a problem, without urn:pawl:
	foreign bool   // none of a pawld: a gateway answers, or another server
}

func newAnswer(server string, sent, took time.Duration, status int, value any, isJSON bool) *answer {
	a := &answer{server: server, sent: sent, took: took, status: status}
	a.json, _ = value.(map[string]any)
	if kind := a.text("type"); strings.HasPrefix(kind, "urn:pawl:") {
		a.kind = strings.TrimPrefix(kind, "urn:pawl:")
	}
	a.foreign = a.kind == "" && (status >= 300 || !isJSON)
	return a
}

func (a *answer) text(member string) string {
	text, _ := a.json[member].(string)
	return text
}

func (a *answer) integerOf(values map[string]any, member string, least, most int64) (int64, *Error) {
	value, isInteger := values[member].(int64)
	if !isInteger || value < least || value > most {
		return 0, failure(ErrProtocol, "%s returned an invalid %s", a.server, member)
	}
	return value, nil
}

func (a *answer) integer(member string, least, most int64) (int64, *Error) {
	return a.integerOf(a.json, member, least, most)
}

// check reports an answer that is not about one of names under lockID: a gateway can mix up its callers.
func (a *answer) check(lockID string, names []string) *Error {
	if err := a.checkMember("lock_id", []string{lockID}); err != nil {
		return err
	}
	return a.checkMember("resource", names)
}

// checkMember reports a member that is there, and is none of texts.
func (a *answer) checkMember(member string, texts []string) *Error {
	if _, isThere := a.json[member]; !isThere {
		return nil
	}
	for _, text := range texts {
		if a.text(member) == text {
			return nil
		}
	}
	return failure(ErrProtocol, "%s answers about another lock: a gateway between may have mixed up the answers of its callers",
		a.server)
}

// until returns the end of the validity that it grants, of a lease of ttl.
func (a *answer) until(ttl time.Duration) (time.Duration, *Error) {
	validity, err := a.integer("validity_ms", 0, ttl.Milliseconds())
	if err != nil {
		return 0, err
	}
	served, err := a.integer("served_ms", 0, (a.took + servedSlack).Milliseconds())
	if err != nil {
		return 0, err
	}
	after := time.Duration(validity) * time.Millisecond
	if took := time.Duration(served) * time.Millisecond; took < a.took {
		after += took
	} else {
		after += a.took
	}
	return a.sent + time.Duration(float64(after)*(1-margin)), nil
}

// failure returns the error that a problem means.
func (a *answer) failure() *Error {
	detail := a.text("detail")
	if a.kind == "" || detail == "" {
		detail = fmt.Sprintf("%s returned an unexpected %d: is this a pawld?", a.server, a.status)
	}
	kind, isKnown := problems[a.kind]
	if !isKnown {
		switch {
		case a.status >= 500 || a.status == 408 || a.status == 429: // of a proxy, too
			kind = ErrUnavailable
		case a.kind == "":
			kind = ErrProtocol
		case a.status == 400:
			kind = ErrInvalid
		default:
			kind = ErrRefused
		}
	}
	err := failure(kind, "%s", ownWords(detail))
	err.Type, err.Name, err.foreign = a.kind, a.text("resource"), a.foreign
	if kind == ErrLost && err.Name != "" {
		err.isNamed = true
		err.message = err.Name + " is no longer held under this lock id and token: stop the work, and acquire it again"
		if a.kind == "lock-broken" {
			err.message = err.Name + " was broken by " + orElse(a.text("by"), "an operator")
		}
	}
	if kind == ErrHeld {
		a.addHolder(err)
	}
	return err
}

func (a *answer) addHolder(err *Error) {
	err.Owner = a.text("owner")
	after, isInteger := a.json["retry_after_ms"].(int64)
	isInteger = isInteger && after >= 0 && after <= ttlMax.Milliseconds()
	if isInteger {
		err.RetryAfter = time.Duration(after) * time.Millisecond
	}
	if err.Name == "" || a.kind == "contended" {
		return
	}
	err.isNamed = true
	err.message = err.Name + " is held by " + orElse(err.Owner, "another caller")
	if isInteger {
		err.message += fmt.Sprintf(", for %.1f s unless extended", err.RetryAfter.Seconds())
	}
}

func orElse(text, other string) string {
	if text == "" {
		return other
	}
	return text
}

// ---- one call

type server struct {
	url       string
	base      string
	transport *http.Transport
}

// A call is one request.
type call struct {
	method  string
	path    string
	body    map[string]any
	headers map[string]string
}

func tlsOf(options Options) (*tls.Config, *Error) {
	file := func(path, variable string) string { return orElse(path, os.Getenv(variable)) }
	config := &tls.Config{MinVersion: tls.VersionTLS12, VerifyConnection: checkChain}
	if path := file(options.CAFile, "PAWL_CA_FILE"); path != "" {
		text, err := os.ReadFile(path)
		if err != nil {
			return nil, failure(ErrInvalid, "CA certificates: %v", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(text) {
			return nil, failure(ErrInvalid, "%s has no certificate in PEM", path)
		}
	}
	if path := file(options.Cert, "PAWL_CERT"); path != "" {
		pair, err := tls.LoadX509KeyPair(path, orElse(file(options.CertKey, "PAWL_CERT_KEY"), path))
		if err != nil {
			return nil, failure(ErrInvalid, "client certificate: %v", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// checkChain refuses a server whose certificate was signed by one that is no authority: crypto/x509 believes a
// certificate with CA:TRUE and without a key usage. The last one of a chain is one that the caller trusts.
func checkChain(state tls.ConnectionState) error {
	for _, chain := range state.VerifiedChains {
		signs := true
		for at := 1; at < len(chain)-1; at++ {
			signs = signs && chain[at].KeyUsage&x509.KeyUsageCertSign != 0
		}
		if signs {
			return nil
		}
	}
	return errors.New("the certificate is not trusted: a certificate that is not a CA signed it (server/TLS.md)")
}

var visible = regexp.MustCompile("^[!-~]+$")

func newServer(text string, config *tls.Config) (*server, *Error) {
	dialer := &net.Dialer{Timeout: connectTimeout, KeepAlive: keepAlive}
	s := &server{url: strings.TrimRight(text, "/"), base: strings.TrimRight(text, "/")}
	s.transport = &http.Transport{ // its Proxy is nil: no proxy is used
		DialContext:            func(ctx context.Context, _, address string) (net.Conn, error) { return dial(ctx, dialer, address) },
		TLSClientConfig:        config,
		TLSNextProto:           map[string]func(string, *tls.Conn) http.RoundTripper{},
		DisableCompression:     true,
		MaxResponseHeaderBytes: headMax,
		MaxIdleConnsPerHost:    namesMax,
		IdleConnTimeout:        60 * time.Second,
	}
	if !strings.HasPrefix(text, unixPrefix) {
		return s, checkURL(text)
	}
	path := strings.TrimPrefix(text, unixPrefix)
	if !strings.HasPrefix(path, "/") || path == "/" {
		return nil, failure(ErrInvalid, "'%s' has no absolute path; name a socket as unix:/PATH, such as %s", text, SocketDefault)
	}
	if len(path) > socketPathMax || strings.Contains(path, "\x00") {
		return nil, failure(ErrInvalid, "'%s' is too long: the path of a socket has at most %d bytes", text, socketPathMax)
	}
	s.url, s.base = text, "http://localhost"
	s.transport.DialContext = func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", path)
	}
	return s, nil
}

// dial asks each address of a name, and gives each its time: a Dialer gives all of it to the first one.
func dial(ctx context.Context, dialer *net.Dialer, address string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(address)
	if err != nil {
		return nil, err
	}
	resolving, cancel := context.WithTimeout(ctx, connectTimeout)
	defer cancel()
	addresses, err := net.DefaultResolver.LookupHost(resolving, host)
	for _, one := range addresses {
		var connection net.Conn
		if connection, err = dialer.DialContext(ctx, "tcp", net.JoinHostPort(one, port)); err == nil || ctx.Err() != nil {
			return connection, err
		}
	}
	return nil, err
}

func checkURL(text string) *Error {
	if strings.Contains(text, "@") { // it may be a password, which no sentence shows
		return failure(ErrInvalid, "a server URL must have no user and no password; use a key instead")
	}
	if strings.Contains(text, ",") {
		return failure(ErrInvalid, "'%s' has a comma: give each server separately; in PAWL_SERVER put a space between two servers", text)
	}
	parsed, err := url.Parse(text)
	if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Hostname() == "" ||
		strings.ContainsAny(text, "?#") || !visible.MatchString(text) {
		return failure(ErrInvalid, "'%s' is not a valid URL of a server, such as %s", text, ServerDefault)
	}
	if port, err := strconv.Atoi(orElse(parsed.Port(), "80")); err != nil || port < 1 || port > 65535 {
		return failure(ErrInvalid, "'%s' has an invalid port: a port must be 1 to 65535", text)
	}
	return nil
}

func (s *server) request(ctx context.Context, c *call, key string) (*http.Request, error) {
	var body io.Reader
	if c.body != nil {
		text, err := json.Marshal(c.body)
		if err != nil {
			return nil, err
		}
		body = bytes.NewReader(text)
	}
	request, err := http.NewRequestWithContext(ctx, c.method, s.base+c.path, body)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("User-Agent", "")
	if key != "" {
		request.Header.Set("Authorization", "Bearer "+key)
	}
	for name, value := range c.headers {
		request.Header.Set(name, value)
	}
	return request, nil
}

func isCut(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) ||
		errors.Is(err, syscall.EPIPE)
}

// ask asks the server once. ErrUnavailable: no answer came within timeout. The context's error where that ended.
func (s *server) ask(ctx context.Context, c *call, key string, timeout time.Duration) (*answer, *Error) {
	var reached atomic.Bool
	sent := now()
	bounded, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	traced := httptrace.WithClientTrace(bounded, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { reached.Store(true) },
	})
	status, body, err := s.exchange(traced, c, key)
	if err == nil && len(body) > answerMax {
		return nil, &Error{Kind: ErrProtocol, message: "the answer of " + s.url + " is too long", reached: true}
	}
	if err == nil {
		value, isJSON := parseAnswer(body)
		return newAnswer(s.url, sent, now()-sent, status, value, isJSON), nil
	}
	if ctx.Err() != nil {
		return nil, &Error{Kind: ErrCancelled, message: ctx.Err().Error(), cause: ctx.Err(), reached: reached.Load()}
	}
	failed := failure(ErrUnavailable, "%s does not answer: %v", s.url, err)
	if bounded.Err() != nil {
		failed.message = s.url + " does not answer: timed out"
	}
	failed.reached = reached.Load()
	failed.cut = failed.reached && bounded.Err() == nil && isCut(err)
	return nil, failed
}

func (s *server) exchange(ctx context.Context, c *call, key string) (int, []byte, error) {
	request, err := s.request(ctx, c, key)
	if err != nil {
		return 0, nil, err
	}
	response, err := s.transport.RoundTrip(request) // follows no redirect
	if err != nil {
		return 0, nil, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(io.LimitReader(response.Body, answerMax+1))
	return response.StatusCode, body, err
}

// A patience is how long to go on trying, and how long to pause before the next attempt.
type patience struct {
	until time.Duration
	next  time.Duration
}

// pause pauses before the next attempt. False: the time is over, or the context is.
func (p *patience) pause(ctx context.Context) bool {
	left := p.until - now()
	if left <= 0 || ctx.Err() != nil {
		return false
	}
	sleep(ctx, least(p.next, left))
	p.next = least(p.next*2, pauseMost)
	if p.next == 0 {
		p.next = pauseLeast
	}
	return true
}

func sleep(ctx context.Context, time_ time.Duration) {
	timer := time.NewTimer(time_)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}

func least(a, b time.Duration) time.Duration {
	if a < b {
		return a
	}
	return b
}

func most(a, b time.Duration) time.Duration {
	if a > b {
		return a
	}
	return b
}

// ---- client

// Options are of a Client. All zero: the defaults.
type Options struct {
	// URLs such as "http://127.0.0.1:7380", up to 8, or "unix:/run/pawl/pawld.sock", the socket of pawld --listen. The
	// client asks the next one where one does not answer. None: those of PAWL_SERVER, with spaces between; or
	// SocketDefault, where this process may connect to that socket; or ServerDefault.
	Servers []string
	// How long a call may take beyond what it waits for; 0: 5 s.
	CallTimeout time.Duration
	// "pawl_...", where the servers ask for a key. "": that of PAWL_KEY, or none. The client sends it with each call:
	// use https beyond this machine.
	Key string
	// For https, files in PEM: the CA certificates to trust, the client certificate, and its key. "": the file that
	// PAWL_CA_FILE, PAWL_CERT or PAWL_CERT_KEY names; without any, the system's CA certificates.
	CAFile, Cert, CertKey string
}

// A Client asks the servers of one fleet. Use New.
type Client struct {
	servers     []*server
	identity    string // of the servers
	current     atomic.Int64
	key         string
	callTimeout time.Duration
	oneByOne    atomic.Bool // a server did not know a request about several names
}

func serversOf(options Options) []string {
	texts := options.Servers
	if len(texts) == 0 {
		texts = strings.Fields(os.Getenv("PAWL_SERVER"))
	}
	if len(texts) == 0 && mayConnect(strings.TrimPrefix(SocketDefault, unixPrefix)) {
		texts = []string{SocketDefault}
	}
	if len(texts) == 0 {
		texts = []string{ServerDefault}
	}
	return texts
}

// New makes a client, and sends nothing. ErrInvalid: an option or a file is wrong.
func New(options Options) (*Client, error) {
	texts := serversOf(options)
	if len(texts) > serversMax {
		return nil, failure(ErrInvalid, "a client can have at most %d servers", serversMax)
	}
	c := &Client{key: orElse(options.Key, os.Getenv("PAWL_KEY")), callTimeout: options.CallTimeout}
	if c.callTimeout == 0 {
		c.callTimeout = callTimeoutDefault
	}
	if c.callTimeout < 0 || c.callTimeout > callTimeoutMax {
		return nil, failure(ErrInvalid, "CallTimeout must be above 0 and at most %v", callTimeoutMax)
	}
	if len(c.key) > keyMax || c.key != "" && !visible.MatchString(c.key) { // the sentence does not show it
		return nil, failure(ErrInvalid, "a key must be one word of at most %d characters", keyMax)
	}
	var config *tls.Config
	for _, text := range texts {
		if strings.HasPrefix(text, "https:") && config == nil {
			made, err := tlsOf(options)
			if err != nil {
				return nil, err
			}
			config = made
		}
		one, err := newServer(text, config)
		if err != nil {
			return nil, err
		}
		c.servers = append(c.servers, one)
	}
	sorted := append([]string{}, texts...)
	sort.Strings(sorted)
	c.identity = strings.Join(sorted, " ")
	return c, nil
}

// Close closes the connections that wait for the next call. The locks of the client stay as they are. A call that is
// made later has a connection of its own.
func (c *Client) Close() {
	for _, one := range c.servers {
		one.transport.CloseIdleConnections()
	}
}

func (c *Client) skip(at int64) {
	c.current.CompareAndSwap(at, (at+1)%int64(len(c.servers)))
}

// ask asks the current server once. Where it has no answer, or may not answer the next time, the next call asks the
// next server.
func (c *Client) ask(ctx context.Context, request *call, timeout time.Duration) (*answer, *Error) {
	at := c.current.Load()
	got, err := c.servers[at].ask(ctx, request, c.key, most(timeout, time.Millisecond))
	if err == nil && (got.status >= 300 || got.foreign) {
		err = got.failure()
		err.reached = true
	}
	if err != nil && err.Kind == ErrUnavailable {
		c.skip(at)
	}
	return got, err
}

// askUntil repeats until there is an answer that is no reason to repeat. Each server gets its share of the time, so
// that one that hangs does not use it up.
func (c *Client) askUntil(ctx context.Context, request *call, until time.Duration) (*answer, *Error) {
	patience := patience{until, pauseLeast}
	share := most(until-now(), time.Millisecond) / time.Duration(len(c.servers))
	for {
		got, err := c.ask(ctx, request, least(share, until-now()))
		if err == nil || err.Kind != ErrUnavailable {
			return got, err
		}
		if !patience.pause(ctx) || now() >= until {
			return nil, err
		}
	}
}

func pathOf(kind, name string) string {
	segments := strings.Split(name, "/")
	for at, segment := range segments {
		segments[at] = url.PathEscape(segment)
	}
	return "/v1/" + kind + "/" + strings.Join(segments, "/")
}

func checkName(name string) *Error {
	if len(name) < 1 || len(name) > nameMax || !utf8.ValidString(name) {
		return failure(ErrInvalid, "a name must have 1 to %d bytes of UTF-8", nameMax)
	}
	return nil
}

// A Request is what Acquire and Do are to acquire.
type Request struct {
	Name  string        // of the lock, or of the semaphore
	Names []string      // in place of Name: up to 64 names that are acquired all or none
	TTL   time.Duration // the lease; 0: the fleet's default
	Wait  time.Duration // how long to wait where another one holds it; 0: without end; NoWait: not at all
	Owner string        // a label that others see
	// 0: a lock. 1 to 64: one seat of the semaphore Name, which has so many seats. The lock is named as the seat
	// then: "imports#2".
	Permits int
	// Read or Write: Name is a read-write lock, with many readers or one writer. A reader's lock is named as its seat.
	Mode Mode
	// Delay is how long others stay out after a lease that ends by itself. A release lets them in at once. Delay and TTL
	// together are at most the fleet's longest lease.
	Delay time.Duration
	// OnWait is called at most once, before the wait begins, with the ErrHeld that tells of the holder.
	OnWait func(held *Error)
	// TakeNewGrant: where an extension is a new grant, the lock takes its token and goes on. The holder has to read
	// Token again, and again what its work depends on. False: the lock is lost.
	TakeNewGrant bool
	// Notice, for Do: how long before the deadline a lock that could not be extended is told as lost. 0: a sixth of
	// the lease. Half of the lease at most.
	Notice time.Duration
}

func (r *Request) check() *Error {
	if r.Name != "" {
		if len(r.Names) > 0 {
			return failure(ErrInvalid, "a request has Name or Names, not both")
		}
		r.Names = []string{r.Name}
	}
	if len(r.Names) < 1 || len(r.Names) > namesMax {
		return failure(ErrInvalid, "a lock must have 1 to %d names", namesMax)
	}
	seen := map[string]bool{}
	for _, name := range r.Names {
		if err := checkName(name); err != nil {
			return err
		}
		if seen[name] {
			return failure(ErrInvalid, "the name %s is given twice", name)
		}
		seen[name] = true
	}
	if r.Permits < 0 || r.Permits > permitsMax {
		return failure(ErrInvalid, "Permits must be 1 to %d", permitsMax)
	}
	if r.Permits > 0 && len(r.Names) > 1 {
		return failure(ErrInvalid, "a semaphore has one name")
	}
	if r.Mode != "" && r.Mode != Read && r.Mode != Write {
		return failure(ErrInvalid, "Mode must be Read or Write")
	}
	if r.Mode != "" && (r.Permits > 0 || len(r.Names) > 1) {
		return failure(ErrInvalid, "a read-write lock has one name, and no Permits")
	}
	if r.Delay < 0 {
		return failure(ErrInvalid, "Delay must not be negative")
	}
	if len(r.Owner) > ownerMax || !utf8.ValidString(r.Owner) {
		return failure(ErrInvalid, "Owner must have at most %d bytes of UTF-8", ownerMax)
	}
	if r.TTL < 0 || r.TTL > 0 && r.TTL < time.Millisecond {
		return failure(ErrInvalid, "TTL must be a millisecond or more")
	}
	if r.Wait < 0 && r.Wait != NoWait {
		return failure(ErrInvalid, "Wait must not be negative; to not wait, use NoWait")
	}
	return nil
}

// seats returns how many seats the name may have; 0: the lock is the name's alone.
func (r *Request) seats() int {
	if r.Mode == Read {
		return readersMax
	}
	return r.Permits
}

// kind returns where the lock is extended and released. The lock of a writer has no other name, that of a reader has.
func (r *Request) kind() string {
	if r.Mode == Write {
		return "rwlocks"
	}
	return "locks"
}

func untilOf(wait time.Duration) time.Duration {
	switch {
	case wait == 0:
		return forever
	case wait == NoWait:
		return now()
	case wait > forever-now():
		return forever
	}
	return now() + wait
}

type ownKey struct{}

// checkOwn refuses to wait for a lock that the work of Do holds itself.
func (c *Client) checkOwn(ctx context.Context, request *Request) *Error {
	own, _ := ctx.Value(ownKey{}).([]*Lock)
	for _, lock := range own {
		for _, name := range lock.names {
			for _, wanted := range request.Names {
				if name == wanted && request.Wait != NoWait && lock.client.identity == c.identity && lock.Held() {
					err := failure(ErrRefused, "the work of Do already holds %s and would wait for itself: "+
						"release the lock first, or use NoWait", name)
					err.Type, err.Name, err.isNamed = "nested", name, true
					return err
				}
			}
		}
	}
	return nil
}

// Acquire acquires a lock. Nothing extends it until Lock.Renew is called, and nothing releases it but Lock.Release.
//
// It repeats where an answer is lost, under the same lock id, so that no lock is left behind that nobody knows of.
// Where no server answers from the start on, it returns ErrUnavailable after the call timeout. Where ctx ends, it
// releases what it may have been granted, within the call timeout, and returns ErrCancelled.
func (c *Client) Acquire(ctx context.Context, request Request) (*Lock, error) {
	err := request.check()
	if err == nil {
		err = c.checkOwn(ctx, &request)
	}
	if err != nil {
		return nil, err
	}
	until := untilOf(request.Wait)
	for { // again only where an answer came after its own validity had ended
		lock, err := newAcquisition(ctx, c, &request, until).run()
		if err != nil {
			return nil, about(err, "acquire", request.Names)
		}
		if lock.Held() {
			return lock, nil
		}
		if now() >= until {
			return nil, about(failure(ErrUnavailable, "its validity had ended when the answer came"), "acquire",
				request.Names)
		}
	}
}

// Do calls work under a lock, which it extends in the background and releases at the end. The context of work ends
// where the lock cannot be kept, and with ctx. Work that waits in its own context for the same lock is ErrRefused.
//
// Do returns what Acquire returns, and what work returns. It returns ErrLost where work returned nil, but the lock
// was not held until then. A release that fails is not told: the lease ends by itself.
func (c *Client) Do(ctx context.Context, request Request, work func(context.Context, *Lock) error) error {
	lock, err := c.Acquire(ctx, request)
	if err != nil {
		return err
	}
	defer lock.end()
	if err := lock.Renew(request.Notice, nil); err != nil {
		return err
	}
	own, _ := ctx.Value(ownKey{}).([]*Lock)
	inner, cancel := lock.Context(context.WithValue(ctx, ownKey{}, append(append([]*Lock{}, own...), lock)))
	defer cancel()
	err = work(inner, lock)
	if lost := lock.Check(); lost != nil && !lock.isReleased() && (err == nil || errors.Is(err, context.Canceled) && ctx.Err() == nil) {
		return lost
	}
	return err
}

// ---- acquiring

// A waiting is a call that waits at a server: attempts, until one ends it or its time is over. A server that answered
// before is waited for until the end of the wait. No answer from the start on: only for a call's timeout.
type waiting struct {
	ctx      context.Context
	client   *Client
	until    time.Duration
	told     bool          // the next attempt waits
	answered bool          // a pawld or its gateway did: then it is worth to wait for it
	asked    time.Duration // when the last attempt began
	waits    time.Duration // what it was to wait
	first    time.Duration
	patience patience
}

func newWaiting(ctx context.Context, c *Client, until time.Duration) waiting {
	first := now() + c.callTimeout
	return waiting{ctx: ctx, client: c, until: until, told: len(c.servers) == 1, first: first,
		patience: patience{first, pauseLeast}}
}

// left returns how long an attempt may wait now. The first one waits for nothing where it is not known which of
// several servers answers.
func (w *waiting) left(step time.Duration) time.Duration {
	if !w.told {
		return 0
	}
	return least(most(w.until-now(), 0), step)
}

// didWait reports whether the last attempt waited at a pawld. What ends such a wait is a gateway that cuts it.
func (w *waiting) didWait() bool {
	return w.waits > 0 && now()-w.asked >= cutLeast
}

func (w *waiting) ask(request *call, wait time.Duration) (*answer, *Error) {
	w.asked, w.waits = now(), wait
	share := w.client.callTimeout / time.Duration(len(w.client.servers))
	got, err := w.client.ask(w.ctx, request, wait+share)
	if err != nil && err.Kind == ErrProtocol && err.foreign && (w.answered || w.didWait()) {
		err.Kind = ErrUnavailable // a page of a gateway
	}
	isProtocol := err != nil && err.Kind == ErrProtocol
	if got != nil && !isProtocol || err != nil && err.cut && w.didWait() {
		w.answered = true
	}
	return got, err
}

// goesOn pauses before the next attempt. False: there is none. A wait that a gateway cut at its very end is followed
// by one more attempt, which says how the lock is.
func (w *waiting) goesOn() bool {
	did := w.didWait()
	if did {
		w.patience.next = 0 // it was no hot loop, and its place is kept for a moment
	}
	if w.answered && w.until > w.first {
		w.patience.until = w.until
	}
	return w.patience.pause(w.ctx) || did && w.answered && w.ctx.Err() == nil
}

// An acquisition is attempts under one lock id, until one is granted or the time is over.
type acquisition struct {
	waiting
	request *Request
	lockID  string
	began   time.Duration
	inDoubt bool // an attempt may have left the lock behind
}

func newAcquisition(ctx context.Context, c *Client, request *Request, until time.Duration) *acquisition {
	random := make([]byte, 21)
	if _, err := rand.Read(random); err != nil {
		panic("pawl: the system has no random numbers: " + err.Error())
	}
	a := &acquisition{waiting: newWaiting(ctx, c, until), request: request, began: now(),
		lockID: base64.RawURLEncoding.EncodeToString(random)}
	a.told = a.told && request.OnWait == nil // the first attempt finds out who is in the way
	return a
}

func (a *acquisition) call(wait time.Duration) *call {
	r := a.request
	body := map[string]any{"lock_id": a.lockID, "wait_ms": wait.Milliseconds()}
	if r.TTL > 0 {
		body["ttl_ms"] = r.TTL.Milliseconds()
	}
	if r.Owner != "" {
		body["owner"] = r.Owner
	}
	if r.Delay > 0 {
		body["delay_ms"] = r.Delay.Milliseconds()
	}
	path := pathOf("locks", r.Names[0])
	if r.Permits > 0 {
		body["permits"] = r.Permits
		path = pathOf("semaphores", r.Names[0])
	} else if r.Mode != "" {
		body["mode"] = r.Mode
		path = pathOf("rwlocks", r.Names[0])
	} else if len(r.Names) > 1 {
		body["resources"] = r.Names
		path = "/v1/locks"
	}
	waited := strconv.FormatInt((now() - a.began).Milliseconds(), 10)
	return &call{"POST", path, body, map[string]string{"Waited-Ms": waited}}
}

func (a *acquisition) attempt() (*answer, *Error) {
	wait := a.left(waitStep)
	got, err := a.ask(a.call(wait), wait)
	if err == nil && got.status != 200 && got.status != 201 {
		err = got.failure()
		err.reached = true
	}
	if err == nil {
		a.inDoubt = true // until the answer is understood, and its lock is somebody's
		return got, nil
	}
	switch err.Kind {
	case ErrHeld, ErrRefused, ErrInvalid, ErrExhausted, ErrLost:
	default:
		a.inDoubt = a.inDoubt || err.reached
	}
	return nil, err
}

// attempts makes one attempt after the other.
func (a *acquisition) attempts() (*answer, *Error) {
	for {
		got, err := a.attempt()
		if err == nil {
			return got, nil
		}
		if err.Kind == ErrHeld {
			if now() >= a.until {
				return nil, err
			}
			a.patience.next = pauseLeast
			if !a.told {
				a.told = true
				if a.request.OnWait != nil {
					a.request.OnWait(err)
				}
				continue
			}
		} else if err.Kind != ErrUnavailable {
			return nil, err
		}
		if !a.goesOn() {
			if cause := a.ctx.Err(); cause != nil {
				return nil, &Error{Kind: ErrCancelled, RetryAfter: -1, message: cause.Error(), cause: cause}
			}
			return nil, err
		}
	}
}

func (a *acquisition) run() (*Lock, *Error) {
	got, err := a.attempts()
	var lock *Lock
	if err == nil {
		lock, err = a.lockOf(got)
	}
	if err == nil && a.ctx.Err() != nil {
		err = &Error{Kind: ErrCancelled, RetryAfter: -1, message: a.ctx.Err().Error(), cause: a.ctx.Err()}
	}
	if err != nil && a.inDoubt || err == nil && !lock.Held() {
		a.cleanUp()
	}
	return lock, err
}

func (a *acquisition) lockOf(got *answer) (*Lock, *Error) {
	longest := ttlMax
	if a.request.TTL > 0 {
		longest = a.request.TTL
	}
	ttl, err := got.integer("ttl_ms", 1, longest.Milliseconds())
	if err != nil {
		return nil, err
	}
	lock := &Lock{client: a.client, lockID: a.lockID, ttl: time.Duration(ttl) * time.Millisecond,
		takeNewGrant: a.request.TakeNewGrant, kind: a.request.kind(), seat: -1, stopped: make(chan struct{}), changed: make(chan struct{}),
		calls: make(chan struct{}, 1)}
	deadline, err := got.until(lock.ttl)
	if err == nil {
		err = lock.takeGrants(a.request, got)
	}
	if err == nil {
		err = got.check(lock.lockID, append(lock.names, a.request.Names...))
	}
	lock.deadlines = make([]time.Duration, len(lock.names))
	for at := range lock.deadlines {
		lock.deadlines[at] = deadline
	}
	return lock, err
}

func (l *Lock) takeGrants(r *Request, got *answer) *Error {
	grants := map[string]map[string]any{}
	l.names = append([]string{}, r.Names...)
	switch {
	case r.seats() > 0:
		name := got.text("resource")
		for seat := 0; seat < r.seats(); seat++ {
			if name == fmt.Sprintf("%s#%d", r.Names[0], seat) {
				l.seat = seat
			}
		}
		if l.seat < 0 {
			return failure(ErrProtocol, "%s granted a seat without a valid index", got.server)
		}
		l.names = []string{name}
		grants[name] = got.json
	case len(r.Names) == 1:
		grants[r.Names[0]] = got.json
	default:
		items, _ := got.json["grants"].([]any)
		for _, item := range items {
			if grant, isObject := item.(map[string]any); isObject {
				name, _ := grant["resource"].(string)
				grants[name] = grant
			}
		}
	}
	for _, name := range l.names {
		token, err := got.integerOf(grants[name], "token", 1, tokenMax)
		if err != nil {
			return err
		}
		l.tokens = append(l.tokens, token)
	}
	return nil
}

// cleanUp releases what an attempt may have left behind: nobody else knows the lock id. Of a semaphore it may be any
// seat. A read-write lock is released by its name, whichever seat a reader has.
func (a *acquisition) cleanUp() {
	names, kind := a.request.Names, "locks"
	if a.request.Mode != "" {
		kind = "rwlocks"
	}
	if a.request.Permits > 0 {
		name := names[0]
		names = nil
		for seat := 0; seat < a.request.Permits; seat++ {
			names = append(names, fmt.Sprintf("%s#%d", name, seat))
		}
	}
	_, _ = a.client.release(names, a.lockID, now()+a.client.callTimeout, kind, 0) // the lease ends by itself
}

// ---- several names

// askGroup asks about all names in one request. It returns an answer for each name that succeeded; nil: the name is
// to be asked for by itself.
func (c *Client) askGroup(ctx context.Context, method, lockID string, body map[string]any, count int,
	until time.Duration) []*answer {
	answers := make([]*answer, count)
	if count < 2 || c.oneByOne.Load() {
		return answers
	}
	request := &call{method, "/v1/locks", body, map[string]string{"Lock-Id": lockID}}
	share := c.callTimeout / time.Duration(len(c.servers)+1)
	got, err := c.ask(ctx, request, least(until-now(), share))
	if got != nil && !got.foreign && (got.status == 404 || got.status == 405) {
		c.oneByOne.Store(true) // a pawld that is older than the request, and not a gateway
	}
	if err != nil || got.status != 200 {
		return answers
	}
	responses, _ := got.json["responses"].([]any)
	for at := 0; at < count && len(responses) == count; at++ {
		response, _ := responses[at].(map[string]any)
		status, _ := response["status"].(int64)
		if part, isObject := response["body"].(map[string]any); isObject && (status == 200 || status == 201) {
			answers[at] = newAnswer(got.server, got.sent, got.took, int(status), part, true)
		}
	}
	return answers
}

func (c *Client) release(names []string, lockID string, until time.Duration, kind string, keep time.Duration) (bool, *Error) {
	ctx := context.Background()
	body, query := map[string]any{"resources": names}, ""
	if keep > 0 {
		body["keep_ms"] = keep.Milliseconds()
		query = fmt.Sprintf("?keep_ms=%d", keep.Milliseconds())
	}
	answers := c.askGroup(ctx, "DELETE", lockID, body, len(names), until)
	released := true
	var failed *Error
	for at, name := range names {
		got := answers[at]
		if got == nil {
			request := &call{"DELETE", pathOf(kind, name) + query, nil, map[string]string{"Lock-Id": lockID}}
			answered, err := c.askUntil(ctx, request, until)
			if err != nil {
				failed = about(err, "release", []string{name})
				continue
			}
			got = answered
		}
		released = released && got.json["released"] == true
	}
	return released && failed == nil, failed
}

// ---- the lock

// A Lock was acquired. Whether it is held is judged by the clock whenever that is asked.
type Lock struct {
	client       *Client
	lockID       string
	ttl          time.Duration
	kind         string // in paths
	seat         int
	takeNewGrant bool
	names        []string
	calls        chan struct{} // full while a call is under way: one at a time
	stopped      chan struct{} // closed: the lock is not extended any more

	mutex     sync.Mutex // guards what follows; never held during a call
	changed   chan struct{}
	tokens    []int64
	deadlines []time.Duration
	lost      bool
	released  bool
	mustStop  bool
	renews    bool
	reason    *Error
}

// Names returns the names of the lock.
func (l *Lock) Names() []string { return append([]string{}, l.names...) }

// ID returns the lock id: the secret under which the lock is held.
func (l *Lock) ID() string { return l.lockID }

// TTL returns the lease as it was acquired.
func (l *Lock) TTL() time.Duration { return l.ttl }

// Seat returns the index of the seat of a semaphore, or of a reader; -1: there is none.
func (l *Lock) Seat() int { return l.seat }

// Token returns the fencing token of the first name. A lock of several names has a token for each: Tokens.
func (l *Lock) Token() int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.tokens[0]
}

// Tokens returns the fencing token of each name, in the order of Names.
func (l *Lock) Tokens() []int64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return append([]int64{}, l.tokens...)
}

// Left returns the time until the deadline; 0: it passed, or the lock is lost or released.
func (l *Lock) Left() time.Duration {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.left()
}

func (l *Lock) left() time.Duration {
	if l.lost || l.released {
		return 0
	}
	return most(l.deadline()-now(), 0)
}

func (l *Lock) deadline() time.Duration {
	deadline := l.deadlines[0]
	for _, one := range l.deadlines {
		deadline = least(deadline, one)
	}
	return deadline
}

// Held reports whether the lock is held now, by the clock. Once it was false, it is never true again.
func (l *Lock) Held() bool { return l.Left() > 0 }

// Check returns ErrLost unless the lock is held now.
func (l *Lock) Check() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err := l.check(); err != nil {
		return err
	}
	return nil
}

func (l *Lock) check() *Error {
	if l.left() > 0 {
		return nil
	}
	if !l.released {
		l.lost = true
	}
	if l.reason != nil && (l.reason.Kind == ErrLost || l.reason.Kind == ErrNewGrant) {
		return l.reason
	}
	what := "the validity of the lock %s has ended"
	if l.released {
		what = "the lock %s was released"
	}
	err := failure(ErrLost, what, strings.Join(l.names, ", "))
	if l.reason != nil && !l.released {
		err.message += ": " + l.reason.message
		err.cause = l.reason
	}
	err.Name, err.isNamed = l.names[0], true
	return err
}

func (l *Lock) isReleased() bool {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.released
}

// Stopped returns a channel that is closed when the lock will not be extended any more, of a lock that is renewed:
// stop before Left is 0. Release does not close it.
func (l *Lock) Stopped() <-chan struct{} { return l.stopped }

// Reason returns why Stopped was closed; nil: it was not.
func (l *Lock) Reason() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.reason == nil {
		return nil
	}
	return l.reason
}

// Context returns a context that ends with parent, and when Stopped is closed. Call the function when the work is
// done.
func (l *Lock) Context(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(parent)
	go func() {
		select {
		case <-l.stopped:
			cancel()
		case <-ctx.Done():
		}
	}()
	return ctx, cancel
}

// change tells those who sleep. The mutex is held.
func (l *Lock) change() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// Extend extends all names by ttl from now on; 0: the lease. It takes no longer than the call timeout, and not past
// the deadline.
//
// ErrLost: the lock is lost, or its deadline passed without an answer. ErrNewGrant: it was acquired again, and is lost
// unless Request.TakeNewGrant was set. The deadline stands after ErrUnavailable, ErrExhausted, ErrRefused,
// ErrProtocol and ErrCancelled.
func (l *Lock) Extend(ctx context.Context, ttl time.Duration) error {
	if ttl < 0 {
		return failure(ErrInvalid, "ttl must not be negative")
	}
	select {
	case l.calls <- struct{}{}:
	case <-ctx.Done():
		return &Error{Kind: ErrCancelled, RetryAfter: -1, message: ctx.Err().Error(), cause: ctx.Err()}
	}
	defer func() { <-l.calls }()
	if err := l.extend(ctx, ttl, now()+l.client.callTimeout); err != nil {
		return err
	}
	return nil
}

func (l *Lock) extend(ctx context.Context, ttl, until time.Duration) *Error {
	if ttl == 0 {
		ttl = l.ttl
	}
	l.mutex.Lock()
	err := l.check()
	until = least(until, l.deadline())
	tokens := append([]int64{}, l.tokens...)
	l.mutex.Unlock()
	if err != nil {
		return err
	}
	body := map[string]any{"resources": l.names, "tokens": tokens, "ttl_ms": ttl.Milliseconds()}
	answers := l.client.askGroup(ctx, "PATCH", l.lockID, body, len(l.names), until)
	for at := range l.names {
		if err := l.extendName(ctx, at, answers[at], ttl, until); err != nil {
			return l.failed(err, l.names[at])
		}
	}
	return nil
}

func (l *Lock) extendName(ctx context.Context, at int, got *answer, ttl, until time.Duration) *Error {
	if got == nil {
		l.mutex.Lock()
		token := l.tokens[at]
		l.mutex.Unlock()
		headers := map[string]string{"Lock-Id": l.lockID, "Fencing-Token": strconv.FormatInt(token, 10)}
		request := &call{"PATCH", pathOf(l.kind, l.names[at]), map[string]any{"ttl_ms": ttl.Milliseconds()}, headers}
		answered, err := l.client.askUntil(ctx, request, until)
		if err != nil {
			return err
		}
		got = answered
	}
	if err := got.check(l.lockID, l.names[at:at+1]); err != nil {
		return err
	}
	deadline, err := got.until(ttl)
	if err != nil {
		return err
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	token := l.tokens[at]
	if got.status == 201 {
		if token, err = got.integer("token", token, tokenMax); err != nil {
			return err
		}
	}
	if err := l.check(); err != nil {
		return err // an answer that comes too late mends nothing: the holder was told that the lock had ended
	}
	if got.status == 201 && !l.takeNewGrant {
		err := failure(ErrNewGrant, "the lock %s was acquired again, and another caller may have held it in between", l.names[at])
		err.Name, err.Token, err.isNamed = l.names[at], token, true
		return err
	}
	l.tokens[at], l.deadlines[at] = token, deadline
	l.change()
	return nil
}

func (l *Lock) failed(err *Error, name string) *Error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if err.Kind == ErrLost || err.Kind == ErrNewGrant {
		l.lost = true
		if l.reason == nil {
			l.reason = err
		}
		l.change()
		return err
	}
	if lost := l.check(); lost != nil && err.Kind == ErrUnavailable {
		return lost
	}
	return about(err, "extend", []string{name})
}

// Release releases all names. The lock is not held from the start of this call on. It takes the call timeout at most,
// and half a second where the validity has ended.
//
// It returns whether the lock was held until now. ErrUnavailable: not known; the lease ends by itself, and Release may
// be repeated.
func (l *Lock) Release() (bool, error) { return l.release(0) }

// ReleaseAndKeep releases all names, and others stay out for keep, but no longer than the lock had left. So work that
// was quick keeps its slot.
func (l *Lock) ReleaseAndKeep(keep time.Duration) (bool, error) {
	if keep < 0 {
		return false, failure(ErrInvalid, "keep must not be negative")
	}
	return l.release(keep)
}

func (l *Lock) release(keep time.Duration) (bool, error) {
	until := now() + l.client.callTimeout
	l.mutex.Lock()
	if !l.released { // there is nothing to wait for once the lease is over
		until = least(until, most(l.deadline(), now())+late)
	}
	l.released = true
	l.change()
	l.mutex.Unlock()
	timer := time.NewTimer(until - now())
	defer timer.Stop()
	select { // a release beside an extension may leave the lock
	case l.calls <- struct{}{}:
	case <-timer.C:
		return false, about(failure(ErrUnavailable, "an extension is still under way"), "release", l.names)
	}
	defer func() { <-l.calls }()
	released, err := l.client.release(l.names, l.lockID, until, l.kind, keep)
	if err != nil {
		return false, err
	}
	return released, nil
}

// end releases at the end of Do, also a lock that is lost: a new grant may be there.
func (l *Lock) end() {
	if !l.isReleased() {
		_, _ = l.Release() // the lease ends by itself
	}
}

// Renew starts to extend in the background, each time a third of the lease has passed, until Release, or until
// Stopped is closed. It closes Stopped at once where the lock is lost, and notice before the deadline where the lock
// could not be extended (0: a sixth of the lease; half of it at most). Then it calls onStop, which may be nil.
func (l *Lock) Renew(notice time.Duration, onStop func(*Lock)) error {
	if notice == 0 {
		notice = l.ttl / 6
	}
	if notice < 0 || notice > l.ttl/2 {
		return failure(ErrInvalid, "the notice must be 0 to %v here, half of the lease", l.ttl/2)
	}
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.renews {
		return failure(ErrInvalid, "the lock is already being extended")
	}
	l.renews = true
	r := &renewer{l, notice, onStop}
	go r.watch()
	go r.extend()
	return nil
}

// A renewer extends a lock until that is released, or Stopped is closed. One goroutine makes the calls. The other one
// makes none, and watches the time.
type renewer struct {
	lock   *Lock
	notice time.Duration
	onStop func(*Lock)
}

func (r *renewer) watch() {
	if r.sleepUntilLeft(r.notice) {
		r.tell(failure(ErrUnavailable, "it could not be extended in time"))
	}
}

func (r *renewer) extend() {
	l := r.lock
	for r.sleepUntilLeft(most(l.ttl*2/3, r.notice)) {
		l.calls <- struct{}{}
		var err *Error
		if l.Left() > r.notice {
			l.mutex.Lock()
			until := least(l.deadline()-r.notice, now()+l.client.callTimeout)
			l.mutex.Unlock()
			err = l.extend(context.Background(), 0, until)
		}
		<-l.calls
		if err != nil && err.Kind != ErrUnavailable {
			r.tell(err)
			return
		}
		if err != nil {
			time.Sleep(pauseLeast)
		} else if l.Left() <= r.notice {
			return // the other goroutine tells
		}
	}
}

// sleepUntilLeft sleeps until so much is left, also where the deadline is moved or the lock is lost. False: it is over.
func (r *renewer) sleepUntilLeft(left time.Duration) bool {
	l := r.lock
	for {
		l.mutex.Lock()
		isOver, nap, changed := l.released || l.mustStop, l.left()-left, l.changed
		l.mutex.Unlock()
		if isOver || nap <= 0 {
			return !isOver
		}
		timer := time.NewTimer(least(nap, napMost))
		select {
		case <-timer.C:
		case <-changed:
		}
		timer.Stop()
	}
}

func (r *renewer) tell(err *Error) {
	l := r.lock
	l.mutex.Lock()
	if l.released || l.mustStop {
		l.mutex.Unlock()
		return
	}
	if l.reason == nil {
		l.reason = err
	}
	l.mustStop = true
	close(l.stopped)
	l.change()
	l.mutex.Unlock()
	if r.onStop != nil {
		r.onStop(l)
	}
}

// ---- watching

// A State is how a lock is. Token is that of the grant that has the lock, and Owner its holder's label.
type State struct {
	Held  bool
	Token int64 // 0: nobody holds the lock, or (of Inspect) the masters differ on the token
	Owner string
}

// stateOf returns the lock name as an answer tells it. Held with the token 0: the masters differ on the token, as a grant
// is on its way, or ended halfway.
func stateOf(got *answer, name string) (State, *Error) {
	held, isBool := got.json["held"].(bool)
	if got.status != 200 || !isBool {
		return State{}, failure(ErrProtocol, "%s reported a lock without a valid holder", got.server)
	}
	if err := got.checkMember("resource", []string{name}); err != nil {
		return State{}, err
	}
	if !held {
		return State{}, nil
	}
	if token, isThere := got.json["token"]; isThere && token == nil {
		return State{Held: true}, nil
	}
	token, err := got.integer("token", 1, tokenMax)
	return State{true, token, got.text("owner")}, err
}

// Inspect returns how a lock is now.
func (c *Client) Inspect(ctx context.Context, name string) (State, error) {
	if err := checkName(name); err != nil {
		return State{}, err
	}
	got, err := c.askUntil(ctx, &call{"GET", pathOf("locks", name), nil, nil}, now()+c.callTimeout)
	var state State
	if err == nil {
		state, err = stateOf(got, name)
	}
	if err != nil {
		return State{}, about(err, "inspect", []string{name})
	}
	return state, nil
}

// A Watch has the states of a lock, one after the other. One goroutine at a time may call Next.
type Watch struct {
	client *Client
	name   string
	until  time.Duration
	known  *State
}

// Watch watches a lock without taking it. The first state is how the lock is, and the next ones come as soon as it
// changes. wait is how long to watch; 0: without end; NoWait: the state now, and no more.
//
// Only the last change is told where several came at once. A lock that was released and is held again has a higher
// token. The holder may be gone when its state is told: a resource that checks tokens tells for sure.
func (c *Client) Watch(name string, wait time.Duration) (*Watch, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	if wait < 0 && wait != NoWait {
		return nil, failure(ErrInvalid, "wait must not be negative; to not wait, use NoWait")
	}
	return &Watch{client: c, name: name, until: untilOf(wait)}, nil
}

// Next waits for the next state. io.EOF: the time of the watch is over. Once a server has answered, failures of
// servers and gateways end no watch. After ErrUnavailable it may be called again.
func (w *Watch) Next(ctx context.Context) (State, error) {
	state, err := w.look(ctx)
	if err != nil {
		return State{}, about(err, "watch", []string{w.name})
	}
	if state == nil {
		return State{}, io.EOF
	}
	w.known = state
	return *state, nil
}

func (w *Watch) path(wait time.Duration) string {
	path := pathOf("locks", w.name)
	if w.known == nil {
		return path
	}
	unless := "free"
	if w.known.Held {
		unless = strconv.FormatInt(w.known.Token, 10)
	}
	return fmt.Sprintf("%s?unless=%s&wait_ms=%d", path, unless, wait.Milliseconds())
}

// look returns the first state that is not known; nil: the time is over. A server that answers sooner than it was
// asked to, and with nothing new, is asked again after a pause, as one that fails.
func (w *Watch) look(ctx context.Context) (*State, *Error) {
	waiting := newWaiting(ctx, w.client, w.until)
	waiting.answered = w.known != nil
	for {
		told, wait := waiting.told, time.Duration(0)
		if w.known != nil {
			wait = waiting.left(watchStep)
		}
		got, err := waiting.ask(&call{"GET", w.path(wait), nil, nil}, wait)
		if err == nil {
			state, wrong := stateOf(got, w.name)
			if wrong != nil {
				return nil, wrong
			}
			waiting.told = true
			isClear := !state.Held || state.Token > 0
			if isClear && (w.known == nil || state.Token != w.known.Token) {
				return &state, nil
			}
			if now() >= w.until {
				return nil, nil
			}
			if w.known != nil && !told {
				continue // it did not wait: the next one does
			}
		} else if err.Kind != ErrUnavailable {
			return nil, err
		}
		if !waiting.goesOn() {
			if cause := ctx.Err(); cause != nil {
				return nil, &Error{Kind: ErrCancelled, RetryAfter: -1, message: cause.Error(), cause: cause}
			}
			return nil, err
		}
	}
}

// ---- counters

// Next takes the next count values of a named counter, and returns the last one; the others are right below it.
// Where an answer is lost it asks again, and the values of the lost one are nobody's.
func (c *Client) Next(ctx context.Context, counter string, count int64) (int64, error) {
	if err := checkName(counter); err != nil {
		return 0, err
	}
	request := &call{"POST", pathOf("counters", counter), map[string]any{"count": count}, nil}
	return c.count(ctx, request, "count", counter, count)
}

// Last returns the last value of a named counter, and takes none. ErrRefused: it was never counted.
func (c *Client) Last(ctx context.Context, counter string) (int64, error) {
	if err := checkName(counter); err != nil {
		return 0, err
	}
	return c.count(ctx, &call{"GET", pathOf("counters", counter), nil, nil}, "read", counter, 0)
}

func (c *Client) count(ctx context.Context, request *call, verb, counter string, least int64) (int64, error) {
	got, err := c.askUntil(ctx, request, now()+c.callTimeout)
	var value int64
	if err == nil {
		value, err = got.integer("value", least, tokenMax)
	}
	if err == nil {
		err = got.checkMember("name", []string{counter})
	}
	if err != nil {
		return 0, about(err, verb, []string{counter})
	}
	return value, nil
}
