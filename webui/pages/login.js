// SPDX-License-Identifier: Apache-2.0
// login.js - the sign-in page; afterwards the user returns to the page they wanted.
import {signedIn} from "../app.js";
import {fill, h} from "../dom.js";
import {BASE} from "../router.js";
import {session, signIn} from "../session.js";
import {errorBox, field} from "../widgets.js";

// Which of the first users still have no password; the master tells only who may use that.
function blankHint(names) {
    if (!names.length) return undefined;
    return `${names.join(" and ")} ${names.length > 1 ? "have" : "has"} no password yet: leave it empty.`;
}

// The page of an identity provider; afterwards the browser returns to the page that the user wanted.
const startOf = (provider, next) => `${provider.ssoUrl}?` + new URLSearchParams({return: BASE + (next && /^\/(?!\/)/.test(next) ? next : "/")});

export async function page({root, query, title}) {
    title("Sign in");
    if (session.user) { // the user typed this address, or signed in in another tab
        signedIn(query.next);
        return;
    }
    const providers = session.master?.ssoProviders || [];
    const wanted = providers.find((provider) => provider.name === new URLSearchParams(query.next?.split("?")[1]).get("provider"));
    const only = wanted || (providers.length === 1 && providers[0].alwaysRedirect && query.stay === undefined && providers[0]);
    if (only) {
        location.replace(startOf(only, query.next));
        return;
    }
    const name = h("input", {name: "username", autocomplete: "username", autocapitalize: "none", spellcheck: "false", value: "determined", required: true});
    const password = h("input", {name: "password", type: "password", autocomplete: "current-password"});
    const trouble = h("div", {"aria-live": "polite"});
    const submit = h("button", {class: "button primary"}, "Sign in");
    const form = h("form", {class: "card signin", onsubmit: async (event) => {
        event.preventDefault();
        submit.disabled = true;
        try {
            await signIn(name.value.trim(), password.value);
            signedIn(query.next);
        } catch (error) {
            fill(trouble, errorBox(error.status === 401 ? "wrong user name or password" : error));
            password.select();
        } finally {
            submit.disabled = false;
        }
    }}, h("div", {class: "signin-head"}, h("span", {class: "mark", "aria-hidden": "true"}), h("h1", "Sign in")),
    query.next && h("p", {class: "dim"}, "You will return to the page you came from."),
    field("User", name), field("Password", password, blankHint(session.master?.usersWithoutPassword || [])), trouble, submit,
    providers.length > 0 && h("div", {class: "signin-others"}, h("p", {class: "dim"}, "or"), providers.map((provider) => h("a", {class: "button", href: startOf(provider, query.next)}, `Sign in with ${provider.name}`))));
    fill(root, form, h("p", {class: "signin-foot dim"}, session.master?.clusterName || location.host));
    (name.value ? password : name).focus();
}
