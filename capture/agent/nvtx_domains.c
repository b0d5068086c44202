/* nvtx_domains.c - see nvtx_domains.h. */
#include "capture/agent/nvtx_domains.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>

#define NAME_BYTES_MAX 96u
#define DEFAULT 0u
#define OWN 1u
#define FIRST_FREE 2u

struct vt_nvtx_domain {
	char name[NAME_BYTES_MAX];
	_Atomic bool named; /* the name is complete (D1) */
};

/* The first has no name; the last is for all that find no place. */
static struct vt_nvtx_domain domains[VT_NVTX_DOMAINS_MAX];
static _Atomic uint32_t ndomains = FIRST_FREE;

static char strings[VT_NVTX_STRINGS_BYTES];
static _Atomic uint32_t strings_used;

/* ------------------------------------------------------------------ text */

/* Cuts at a length without leaving half a UTF-8 character. */
static size_t cut(const char *text, size_t length, size_t most)
{
	if (length <= most)
		return length;
	while (most > 0 && ((unsigned char)text[most] & 0xc0) == 0x80)
		most--;
	return most;
}

static void append(struct vt_nvtx_text *to, const char *bytes, size_t length)
{
	length = cut(bytes, length, sizeof(to->bytes) - to->length);
	memcpy(to->bytes + to->length, bytes, length);
	to->length += length;
}

static void append_character(struct vt_nvtx_text *to, uint32_t c)
{
	char utf8[4];

	if (c > 0x10ffff || (c >= 0xd800 && c < 0xe000))
		c = 0xfffd;
	if (c < 0x80) {
		utf8[0] = (char)c;
		append(to, utf8, 1);
	} else if (c < 0x800) {
		utf8[0] = (char)(0xc0 | c >> 6);
		utf8[1] = (char)(0x80 | (c & 0x3f));
		append(to, utf8, 2);
	} else if (c < 0x10000) {
		utf8[0] = (char)(0xe0 | c >> 12);
		utf8[1] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[2] = (char)(0x80 | (c & 0x3f));
		append(to, utf8, 3);
	} else {
		utf8[0] = (char)(0xf0 | c >> 18);
		utf8[1] = (char)(0x80 | (c >> 12 & 0x3f));
		utf8[2] = (char)(0x80 | (c >> 6 & 0x3f));
		utf8[3] = (char)(0x80 | (c & 0x3f));
		append(to, utf8, 4);
	}
}

static void begin_text(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain)
{
	ret->length = 0;
	if (!domain->name[0])
		return;
	append(ret, domain->name, strnlen(domain->name, NAME_BYTES_MAX));
	append(ret, ": ", 2);
}

void vt_nvtx_text_plain(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain, const char *text)
{
	begin_text(ret, domain);
	if (!text)
		text = "(no name)";
	/* One more than fits: cut looks at what follows. */
	append(ret, text, strnlen(text, sizeof(ret->bytes) + 1));
}

void vt_nvtx_text_wide(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain, const wchar_t *text)
{
	begin_text(ret, domain);
	for (; text && *text && ret->length < sizeof(ret->bytes) - 3; text++)
		append_character(ret, (uint32_t)*text);
}

static const char *registered(const void *handle)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)strings;

	return at < sizeof(strings) ? strings + at : NULL;
}

void vt_nvtx_text_of(struct vt_nvtx_text *ret, const struct vt_nvtx_domain *domain,
		     const struct vt_nvtx_attributes *attributes)
{
	if (!attributes || attributes->size < sizeof(*attributes)) {
		vt_nvtx_text_plain(ret, domain, NULL);
		return;
	}
	switch (attributes->message_type) {
	case VT_NVTX_MESSAGE_ASCII:
		vt_nvtx_text_plain(ret, domain, attributes->message);
		break;
	case VT_NVTX_MESSAGE_UNICODE:
		vt_nvtx_text_wide(ret, domain, attributes->message);
		break;
	case VT_NVTX_MESSAGE_REGISTERED:
		vt_nvtx_text_plain(ret, domain, registered(attributes->message));
		break;
	default:
		vt_nvtx_text_plain(ret, domain, NULL);
	}
}

/* ------------------------------------------------------------------ domains */

static struct vt_nvtx_domain *find(const char *name, size_t length, uint32_t count)
{
	for (uint32_t i = FIRST_FREE; i < count && i < VT_NVTX_DOMAINS_MAX; i++)
		if (atomic_load_explicit(&domains[i].named, memory_order_acquire) && /* D1 */
		    strlen(domains[i].name) == length && memcmp(domains[i].name, name, length) == 0)
			return &domains[i];
	return NULL;
}

/* Two threads that ask for one name at once may get two domains of that name, which harms nobody. */
static struct vt_nvtx_domain *create(const char *name, size_t length)
{
	struct vt_nvtx_domain *domain;
	uint32_t index;

	length = cut(name, length, NAME_BYTES_MAX - 1);
	domain = find(name, length, atomic_load_explicit(&ndomains, memory_order_relaxed));
	if (domain)
		return domain;
	if (atomic_load_explicit(&ndomains, memory_order_relaxed) >= VT_NVTX_DOMAINS_MAX)
		return &domains[VT_NVTX_DOMAINS_MAX - 1];
	index = atomic_fetch_add_explicit(&ndomains, 1, memory_order_relaxed);
	if (index >= VT_NVTX_DOMAINS_MAX)
		return &domains[VT_NVTX_DOMAINS_MAX - 1];
	memcpy(domains[index].name, name, length);
	atomic_store_explicit(&domains[index].named, true, memory_order_release); /* D1 */
	return &domains[index];
}

struct vt_nvtx_domain *vt_nvtx_domain_create(const char *name)
{
	return create(name ? name : "", name ? strnlen(name, NAME_BYTES_MAX) : 0);
}

struct vt_nvtx_domain *vt_nvtx_domain_create_wide(const wchar_t *name)
{
	struct vt_nvtx_text text;

	vt_nvtx_text_wide(&text, &domains[DEFAULT], name);
	return create(text.bytes, text.length);
}

struct vt_nvtx_domain *vt_nvtx_domain_check(const void *handle)
{
	uintptr_t at = (uintptr_t)handle - (uintptr_t)domains;

	return at < sizeof(domains) && at % sizeof(domains[0]) == 0 ? &domains[at / sizeof(domains[0])]
								    : &domains[DEFAULT];
}

struct vt_nvtx_domain *vt_nvtx_domain_own(void)
{
	return &domains[OWN];
}

/* ------------------------------------------------------------------ strings */

static const void *keep(const char *text, size_t length)
{
	uint32_t used = atomic_load_explicit(&strings_used, memory_order_relaxed);
	uint32_t bytes = (uint32_t)length + 1;

	do {
		if (sizeof(strings) - used < bytes)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(&strings_used, &used, used + bytes, memory_order_relaxed,
							memory_order_relaxed));
	/* The program hands the handle on, and with it what was written here. */
	memcpy(strings + used, text, length);
	return strings + used;
}

const void *vt_nvtx_string_register(const char *text)
{
	size_t length = text ? strnlen(text, VT_NVTX_TEXT_BYTES_MAX + 1) : 0;

	return text ? keep(text, cut(text, length, VT_NVTX_TEXT_BYTES_MAX)) : NULL;
}

const void *vt_nvtx_string_register_wide(const wchar_t *text)
{
	struct vt_nvtx_text utf8;

	vt_nvtx_text_wide(&utf8, &domains[DEFAULT], text);
	return keep(utf8.bytes, utf8.length);
}
