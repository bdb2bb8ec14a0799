# A program is one file over the library, or a script.

bin_PROGRAMS += %D%/ps-ckpt
bin_PROGRAMS += %D%/ps-coord
bin_PROGRAMS += %D%/ps-eval
bin_PROGRAMS += %D%/ps-local
bin_PROGRAMS += %D%/ps-relay
bin_PROGRAMS += %D%/ps-serve
bin_PROGRAMS += %D%/ps-submit
bin_PROGRAMS += %D%/ps-work

# These compute no model.
%C%_ps_ckpt_LDADD = $(PS_LIBS)
%C%_ps_coord_LDADD = $(PS_LIBS)
%C%_ps_relay_LDADD = $(PS_LIBS)
%C%_ps_serve_LDADD = $(PS_LIBS)
%C%_ps_submit_LDADD = $(PS_LIBS)
# And this one knows nobody but its children.
%C%_ps_local_LDADD = lib/libps.a

dist_bin_SCRIPTS += %D%/ps-node
# These two are all that the script has beside it.
dist_bin_SCRIPTS += %D%/ps-node.awk
dist_bin_SCRIPTS += %D%/ps-node.sh

# Completion is looked for by the name of a program, and there is one for all.
completiondir = $(datadir)/bash-completion/completions
EXTRA_DIST += %D%/completion.bash
install-data-local:
	$(MKDIR_P) "$(DESTDIR)$(completiondir)"
	for path in $(bin_PROGRAMS) $(dist_bin_SCRIPTS); do \
		case $$path in *.awk | *.sh) continue ;; esac; \
		$(INSTALL_DATA) "$(srcdir)/%D%/completion.bash" \
			"$(DESTDIR)$(completiondir)/$${path##*/}" || exit; \
	done
uninstall-local:
	for path in $(bin_PROGRAMS) $(dist_bin_SCRIPTS); do \
		case $$path in *.awk | *.sh) continue ;; esac; \
		rm -f "$(DESTDIR)$(completiondir)/$${path##*/}"; \
	done
