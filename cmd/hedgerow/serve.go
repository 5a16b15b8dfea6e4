package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/hedgerowdb/hedgerow/internal/engine"
	"github.com/hedgerowdb/hedgerow/internal/server/bolt"
	"github.com/hedgerowdb/hedgerow/internal/server/pgwire"
	"github.com/hedgerowdb/hedgerow/internal/server/web"
	"github.com/hedgerowdb/hedgerow/internal/session"
)

type serveFlags struct {
	data, pg, bolt, http, auth string
	tlsCert, tlsKey            string
	cacheMB, graphMB, maxConns int
	queryMB                    int
	boltAgent, boltAddress     string
	logLevel, importDir        string
	checkpointEvery            time.Duration
	analyzeEvery               time.Duration
}

func serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve --data DIR [--pg ADDR] [--bolt ADDR] [--http ADDR] [--auth trust|password]",
		Short: "Serve a database to PostgreSQL clients and Neo4j drivers",
		Long: `Serve prints "ready pg=… bolt=… http=…" once it accepts connections; SIGTERM or Ctrl-C stops it cleanly. An empty address closes that door.
With --auth trust anybody may connect, on loopback only. With --auth password the user is HEDGEROW_USER with HEDGEROW_PASSWORD.`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.data == "" {
				return usage("serve needs --data DIR")
			}
			return f.run(cmd.Context(), cmd.OutOrStdout())
		},
	}
	fl := cmd.Flags()
	fl.StringVar(&f.data, "data", "", "directory of the database; made if there is none")
	fl.StringVar(&f.pg, "pg", "127.0.0.1:5433", "address for PostgreSQL's protocol")
	fl.StringVar(&f.bolt, "bolt", "127.0.0.1:7687", "address for Bolt")
	fl.StringVar(&f.boltAgent, "bolt-agent", bolt.DefaultAgent(version()), "name of the server for Neo4j drivers; some accept only names that begin with Neo4j/")
	fl.StringVar(&f.boltAddress, "bolt-advertised", "", "host:port by which neo4j:// clients find this server; the address that they came by if empty")
	fl.StringVar(&f.http, "http", "127.0.0.1:7474", "address for HTTP")
	fl.StringVar(&f.auth, "auth", "trust", "trust or password")
	fl.StringVar(&f.tlsCert, "tls-cert", "", "file of the TLS certificate (PEM)")
	fl.StringVar(&f.tlsKey, "tls-key", "", "file of its private key (PEM)")
	fl.IntVar(&f.cacheMB, "cache-mb", 0, "page cache in MiB; 0 takes a quarter of the memory, at most 16384")
	fl.IntVar(&f.graphMB, "graph-cache-mb", 0, "memory for neighbourhoods of nodes in MiB; 0 takes half of the page cache's, -1 keeps none")
	fl.IntVar(&f.queryMB, "query-memory-mb", 0, "memory that all statements together may hold, in MiB; 0 sets no limit beyond hedgerow.mem_limit of each")
	fl.IntVar(&f.maxConns, "max-connections", 200, "connections at a time, of PostgreSQL clients and as many of Neo4j drivers")
	fl.StringVar(&f.importDir, "import", "", "directory below which LOAD CSV may read; without it LOAD CSV is refused")
	fl.StringVar(&f.logLevel, "log", "info", "debug, info, warn or error")
	fl.DurationVar(&f.checkpointEvery, "checkpoint-interval", 5*time.Minute, "time between checkpoints")
	fl.DurationVar(&f.analyzeEvery, "analyze-interval", 10*time.Second, "time between looks for old statistics; 0 switches them off")
	return cmd
}

// boltTLS is the configuration without PostgreSQL's name of its protocol.
func boltTLS(conf *tls.Config) *tls.Config {
	if conf == nil {
		return nil
	}
	c := conf.Clone()
	c.NextProtos = nil
	return c
}

func loopback(addr string) bool {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

func (f *serveFlags) run(ctx context.Context, out io.Writer) error {
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var level slog.Level
	if err := level.UnmarshalText([]byte(f.logLevel)); err != nil {
		return usage("--log is debug, info, warn or error, not %q", f.logLevel)
	}
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level}))
	auth := pgwire.Trust
	verifier := func(string) string { return "" }
	var verify func(user, password string) bool
	switch f.auth {
	case "trust":
		for _, a := range []string{f.pg, f.bolt, f.http} {
			if a != "" && !loopback(a) {
				return usage("--auth trust is for loopback only; %s needs --auth password", a)
			}
		}
	case "password":
		user, password := os.Getenv("HEDGEROW_USER"), os.Getenv("HEDGEROW_PASSWORD")
		if user == "" || password == "" {
			return usage("--auth password needs HEDGEROW_USER and HEDGEROW_PASSWORD in the environment")
		}
		secret, err := pgwire.Secret(password)
		if err != nil {
			return err
		}
		auth = pgwire.Password
		verifier = func(u string) string {
			if u == user {
				return secret
			}
			return ""
		}
		verify = func(u, p string) bool { return pgwire.Matches(verifier(u), p) }
	default:
		return usage("--auth is trust or password, not %q", f.auth)
	}
	var conf *tls.Config
	if f.tlsCert != "" || f.tlsKey != "" {
		cert, err := tls.LoadX509KeyPair(f.tlsCert, f.tlsKey)
		if err != nil {
			return err
		}
		conf = &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12, NextProtos: []string{"postgresql"}}
	}
	// Listen first: an address in use is told before a database is made.
	listen := func(flag, addr string) (net.Listener, error) {
		if addr == "" {
			return nil, nil
		}
		l, err := net.Listen("tcp", addr)
		if errors.Is(err, syscall.EADDRINUSE) {
			return nil, fmt.Errorf("another program listens on %s already; --%s gives another address", addr, flag)
		}
		return l, err
	}
	pgL, err := listen("pg", f.pg)
	if err != nil {
		return err
	}
	boltL, err := listen("bolt", f.bolt)
	if err != nil {
		return err
	}
	httpL, err := listen("http", f.http)
	if err != nil {
		return err
	}
	if f.analyzeEvery <= 0 {
		f.analyzeEvery = -1
	}
	eng, err := engine.Open(ctx, engine.Options{
		AnalyzeInterval: f.analyzeEvery,
		Dir:             f.data, CacheBytes: int64(f.cacheMB) << 20, GraphCacheBytes: int64(f.graphMB) << 20, Logger: log, CheckpointInterval: f.checkpointEvery,
		OnFatal: func(err error) {
			log.Error("the database can promise nothing more; ending", slog.Any("error", err))
			os.Exit(1)
		},
	})
	if err != nil {
		return err
	}
	db := session.New(eng.Store(), session.Options{Log: log, QueryMemory: int64(f.queryMB) << 20, ImportDir: f.importDir, Checkpoint: eng.Checkpoint})
	failed := make(chan error, 3)
	pg := pgwire.New(db, pgwire.Options{Auth: auth, TLS: conf, MaxConnections: f.maxConns, Log: log, Verifier: verifier})
	neo := bolt.New(db, bolt.Options{Verify: verify, TLS: boltTLS(conf), MaxConnections: f.maxConns, Agent: f.boltAgent, Address: f.boltAddress, Log: log})
	if pgL != nil {
		go func() { failed <- pg.Serve(pgL) }()
	}
	if boltL != nil {
		go func() { failed <- neo.Serve(boltL) }()
	}
	webServer := &http.Server{Handler: web.Handler(db), ReadHeaderTimeout: 10 * time.Second}
	if httpL != nil {
		go func() {
			if err := webServer.Serve(httpL); !errors.Is(err, http.ErrServerClosed) {
				failed <- err
			}
		}()
	}
	where := func(l net.Listener) string {
		if l == nil {
			return "off"
		}
		return l.Addr().String()
	}
	fmt.Fprintf(out, "ready pg=%s bolt=%s http=%s\n", where(pgL), where(boltL), where(httpL))
	if pgL != nil {
		host, port, _ := net.SplitHostPort(pgL.Addr().String())
		fmt.Fprintf(out, "  psql:     psql \"host=%s port=%s dbname=main\"\n", host, port)
		user := cmp.Or(os.Getenv("HEDGEROW_USER"), "hedgerow") // node has none of its own where USER is not set
		fmt.Fprintf(out, "  Go, node: postgres://%s@%s/main\n", user, pgL.Addr())
		fmt.Fprintf(out, "  shell:    hedgerow shell --url postgres://%s/main\n", pgL.Addr())
	}
	if boltL != nil {
		fmt.Fprintf(out, "  Neo4j:    bolt://%s or neo4j://%[1]s, database main\n", boltL.Addr())
	}
	select {
	case <-ctx.Done():
		log.Info("stopping; a second signal ends the process at once")
		stop()
	case err = <-failed:
	}
	for _, l := range []net.Listener{pgL, boltL, httpL} {
		if l != nil {
			l.Close()
		}
	}
	wait, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	webServer.Shutdown(wait)
	var doors sync.WaitGroup
	doors.Go(func() { pg.Shutdown(wait) })
	doors.Go(func() { neo.Shutdown(wait) })
	doors.Wait()
	db.Close()
	if cerr := eng.Close(context.Background()); err == nil {
		err = cerr
	}
	if err != nil && strings.Contains(err.Error(), "use of closed") {
		err = nil
	}
	return err
}
