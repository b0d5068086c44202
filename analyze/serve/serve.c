/* serve.c - see serve.h: one loop over a few connections, since browsers open some that they never use. */
#include "analyze/serve/serve.h"

#include <arpa/inet.h>
#include <errno.h>
#include <inttypes.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "schema/base/cleanup.h"

#define CONNECTIONS 8
#define REQUEST_MAX 8192
#define SEND_SECONDS 30 /* a reader that takes nothing for so long is gone */

struct connection {
	int fd;
	size_t bytes;
	char request[REQUEST_MAX + 1];
};

struct server {
	const struct vt_served *served;
	struct connection connections[CONNECTIONS];
	size_t next; /* whose place a new one takes when all are taken */
	bool done;
};

int vt_serve_path(char out[VT_SERVE_PATH_MAX], const char *name, struct vt_err *err)
{
	static const char kept[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-";
	const char *slash = strrchr(name, '/');
	uint64_t secret[2];
	size_t n;

	if (getrandom(secret, sizeof(secret), 0) != sizeof(secret))
		return vt_err_set(err, VT_E_IO, "no random number to be had: %s", strerror(errno));
	n = (size_t)snprintf(out, VT_SERVE_PATH_MAX, "/%016" PRIx64 "%016" PRIx64 "/", secret[0], secret[1]);
	for (name = slash ? slash + 1 : name; *name && n + 1 < VT_SERVE_PATH_MAX; name++)
		out[n++] = *name;
	out[n] = 0;
	for (char *at = out + 34; *at; at++)
		if (!strchr(kept, *at))
			*at = '_';
	return 0;
}

int vt_serve_listen(uint16_t port, int *ret_fd, uint16_t *ret_port, struct vt_err *err)
{
	struct sockaddr_in address = { .sin_family = AF_INET,
				       .sin_port = htons(port),
				       .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t length = sizeof(address);
	VT_CLEANUP(vt_closep) int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int yes = 1;

	if (fd < 0)
		return vt_err_set(err, VT_E_IO, "no socket: %s", strerror(errno));
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof(yes));
	if (bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 || listen(fd, CONNECTIONS) < 0 ||
	    getsockname(fd, (struct sockaddr *)&address, &length) < 0)
		return vt_err_set(err, VT_E_IO,
				  "127.0.0.1:%u cannot be listened on: %s; another `vramtrace open` or a "
				  "trace_processor may be using it",
				  port, strerror(errno));
	*ret_port = ntohs(address.sin_port);
	*ret_fd = vt_steal_fd(&fd);
	return 0;
}

static bool send_all(int fd, const char *data, size_t bytes)
{
	while (bytes) {
		ssize_t n = send(fd, data, bytes, MSG_NOSIGNAL);

		if (n <= 0)
			return false;
		data += n;
		bytes -= (size_t)n;
	}
	return true;
}

/* The value of a header, up to its line's end, or NULL. name: with its colon. */
static const char *find_header(const char *request, const char *name, size_t *ret_bytes)
{
	for (const char *line = strstr(request, "\r\n"); line && line[2] != '\r'; line = strstr(line + 2, "\r\n")) {
		const char *value = line + 2 + strlen(name);

		if (strncasecmp(line + 2, name, strlen(name)) != 0)
			continue;
		value += strspn(value, " \t");
		*ret_bytes = strcspn(value, "\r");
		return value;
	}
	return NULL;
}

static bool is_value(const char *value, size_t bytes, const char *wanted)
{
	return bytes == strlen(wanted) && !memcmp(value, wanted, bytes);
}

static bool is_own_host(const struct vt_served *served, const char *request)
{
	char name[32], address[32];
	size_t bytes;
	const char *host = find_header(request, "Host:", &bytes);

	(void)snprintf(name, sizeof(name), "localhost:%u", served->port);
	(void)snprintf(address, sizeof(address), "127.0.0.1:%u", served->port);
	return host && (is_value(host, bytes, name) || is_value(host, bytes, address));
}

static bool is_allowed_page(const struct vt_served *served, const char *request)
{
	size_t bytes;
	const char *origin = find_header(request, "Origin:", &bytes);

	return !origin || is_value(origin, bytes, served->origin);
}

static bool send_head(const struct server *server, int fd, const char *status, uint64_t bytes)
{
	char head[512];
	int n = snprintf(
		head, sizeof(head),
		"HTTP/1.1 %s\r\nConnection: close\r\nContent-Length: %" PRIu64
		"\r\nContent-Type: application/octet-stream\r\nCache-Control: no-store\r\nX-Content-Type-Options: "
		"nosniff\r\nAccess-Control-Allow-Origin: %s\r\nAccess-Control-Allow-Methods: GET, HEAD\r\n"
		"Access-Control-Allow-Private-Network: true\r\nVary: Origin\r\n\r\n",
		status, bytes, server->served->origin);

	return send_all(fd, head, (size_t)n);
}

static bool send_file(const struct server *server, int fd, uint64_t bytes)
{
	FILE *file = server->served->file;
	char part[1 << 16];

	rewind(file);
	while (bytes) {
		size_t n = fread(part, 1, sizeof(part), file);

		if (!n || !send_all(fd, part, n))
			return false;
		bytes -= n < bytes ? n : bytes;
	}
	return true;
}

static bool is_request(const char *request, const char *method, const char *path)
{
	size_t bytes = strlen(method);

	if (strncmp(request, method, bytes) != 0 || request[bytes] != ' ')
		return false;
	request += bytes + 1;
	return !strncmp(request, path, strlen(path)) && request[strlen(path)] == ' ';
}

static void answer(struct server *server, int fd, const char *request)
{
	const struct vt_served *served = server->served;
	uint64_t bytes;
	off_t end;

	if (!is_own_host(served, request) || !is_allowed_page(served, request)) {
		(void)send_head(server, fd, "403 Forbidden", 0);
		return;
	}
	if (is_request(request, "OPTIONS", served->path)) {
		(void)send_head(server, fd, "204 No Content", 0);
		return;
	}
	end = fseeko(served->file, 0, SEEK_END) ? -1 : ftello(served->file);
	bytes = end > 0 ? (uint64_t)end : 0;
	if (is_request(request, "HEAD", served->path))
		(void)send_head(server, fd, "200 OK", bytes);
	else if (is_request(request, "GET", served->path))
		server->done = send_head(server, fd, "200 OK", bytes) && send_file(server, fd, bytes);
	else
		(void)send_head(server, fd, "404 Not Found", 0);
}

static void drop(struct connection *connection)
{
	(void)shutdown(connection->fd, SHUT_WR);
	(void)close(connection->fd);
	connection->fd = -1;
	connection->bytes = 0;
}

static void read_more(struct server *server, struct connection *connection)
{
	ssize_t n = recv(connection->fd, connection->request + connection->bytes, REQUEST_MAX - connection->bytes, 0);

	if (n <= 0) {
		drop(connection);
		return;
	}
	connection->bytes += (size_t)n;
	connection->request[connection->bytes] = 0;
	/* A NUL in it ends the text early: such a request is never whole. */
	if (!strstr(connection->request, "\r\n\r\n")) {
		if (connection->bytes == REQUEST_MAX) {
			(void)send_head(server, connection->fd, "431 Request Header Fields Too Large", 0);
			drop(connection);
		}
		return;
	}
	answer(server, connection->fd, connection->request);
	drop(connection);
}

static void take_connection(struct server *server, int listener)
{
	const struct timeval patience = { .tv_sec = SEND_SECONDS };
	struct connection *place = NULL;
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);

	if (fd < 0)
		return;
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
	for (size_t i = 0; i < CONNECTIONS && !place; i++)
		if (server->connections[i].fd < 0)
			place = &server->connections[i];
	if (!place) {
		place = &server->connections[server->next++ % CONNECTIONS];
		drop(place);
	}
	place->fd = fd;
}

int vt_serve_once(int listener, const struct vt_served *served, struct vt_err *err)
{
	struct server server = { .served = served };
	struct pollfd polls[CONNECTIONS + 1];

	for (size_t i = 0; i < CONNECTIONS; i++)
		server.connections[i].fd = -1;
	while (!server.done) {
		polls[CONNECTIONS] = (struct pollfd){ .fd = listener, .events = POLLIN };
		for (size_t i = 0; i < CONNECTIONS; i++)
			polls[i] = (struct pollfd){ .fd = server.connections[i].fd, .events = POLLIN };
		if (poll(polls, CONNECTIONS + 1, -1) < 0 && errno != EINTR)
			return vt_err_set(err, VT_E_IO, "cannot wait for the browser: %s", strerror(errno));
		for (size_t i = 0; i < CONNECTIONS && !server.done; i++)
			if (polls[i].revents && server.connections[i].fd >= 0)
				read_more(&server, &server.connections[i]);
		if (polls[CONNECTIONS].revents)
			take_connection(&server, listener);
	}
	for (size_t i = 0; i < CONNECTIONS; i++)
		if (server.connections[i].fd >= 0)
			drop(&server.connections[i]);
	return 0;
}
