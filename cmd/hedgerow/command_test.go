package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"syscall"
	"testing"
	"time"
)

// hedge runs the command line in this process with its standard streams replaced, and returns its exit status and what it printed.
func hedge(t testing.TB, stdin string, args ...string) (code int, out, errs string) {
	t.Helper()
	in, o, e := os.Stdin, os.Stdout, os.Stderr
	defer func() { os.Stdin, os.Stdout, os.Stderr = in, o, e }()
	var bufs [2]bytes.Buffer
	var ends [2]*os.File
	done := make(chan struct{}, 2)
	for i := range ends {
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		ends[i] = w
		go func() {
			io.Copy(&bufs[i], r)
			r.Close()
			done <- struct{}{}
		}()
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		io.WriteString(w, stdin)
		w.Close()
	}()
	os.Stdin, os.Stdout, os.Stderr = r, ends[0], ends[1]
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	defer cancel()
	code = run(ctx, args)
	ends[0].Close()
	ends[1].Close()
	<-done
	<-done
	r.Close()
	return code, bufs[0].String(), bufs[1].String()
}

// cpuTime is the processor time that this process has used.
func cpuTime() time.Duration {
	var u syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &u)
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
