# SPDX-License-Identifier: Apache-2.0
"""Signing in and out, the settings, and sessions that end while a page is open."""
from harness import BrowserTest, expect

LOST = r"status of 401|status of 403"


def sign_in(page, user, password):
    page.get_by_label("User").fill(user)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()


class People(BrowserTest):
    def person(self, name, password="Secret-Word-1"):
        """Creates a user for this test only."""
        admin = self.testbed.api("POST", "/api/v1/auth/login", {"username": "admin", "password": ""})["token"]
        before, self.testbed.token = self.testbed.token, admin
        try:
            user = self.testbed.api("POST", "/api/v1/users", {"user": {"username": name, "active": True}, "password": password})["user"]
        finally:
            self.testbed.token = before
        return user

    def token_of(self, name, password="Secret-Word-1"):
        return self.testbed.api("POST", "/api/v1/auth/login", {"username": name, "password": password})["token"]


class Session(People):
    def signed_out_page(self, address):
        """A page of a user who has signed out and must not be signed in automatically."""
        context = self.context(signed_in=False)
        context.add_init_script("location.protocol === 'http:' && localStorage.getItem('det.signedOut') === null && localStorage.setItem('det.signedOut', '1')")
        page = context.new_page()
        page.goto(self.testbed.url + address)
        return self.filled(page)

    def test_on_the_local_machine_the_page_signs_in_by_itself(self):
        page = self.page_at("/det/experiments", signed_in=False)
        expect(page.get_by_role("heading", level=1)).not_to_have_text("Sign in")
        cookie = next(c for c in page.context.cookies() if c["name"].startswith("auth"))
        self.assertTrue(cookie["httpOnly"])
        self.assertEqual(cookie["sameSite"], "Strict")
        self.assertEqual("", page.evaluate("document.cookie"))

    def test_signing_in_leads_to_where_one_wanted_to_be(self):
        self.allow(LOST)
        self.person("ann")
        page = self.signed_out_page("/det/settings?x=1")
        expect(page).to_have_url(self.testbed.url + "/det/login?next=%2Fsettings%3Fx%3D1")
        self.looks(page, "login")
        sign_in(page, "ann", "wrong")
        expect(page.get_by_role("alert")).to_contain_text("Wrong user name or password")
        self.shot(page, "login-wrong")
        sign_in(page, "ann", "Secret-Word-1")
        expect(page).to_have_url(self.testbed.url + "/det/settings?x=1")
        expect(page.get_by_text("ann").first).to_be_visible()

    def test_the_keyboard_alone_signs_in(self):
        self.allow(LOST)
        self.person("bob")
        page = self.signed_out_page("/det/")
        expect(page.get_by_label("Password")).to_be_focused()
        page.keyboard.press("Shift+Tab")
        page.keyboard.press("Control+A")
        page.keyboard.type("bob")
        page.keyboard.press("Tab")
        page.keyboard.type("Secret-Word-1")
        page.keyboard.press("Enter")
        expect(page).to_have_url(self.testbed.url + "/det/")
        expect(page.locator(".who-name")).to_have_text("bob")

    def test_signing_in_does_not_lead_to_another_site(self):
        self.allow(LOST)
        self.person("eve")
        for next_ in ("//evil.example/", "/\\evil.example"):
            page = self.signed_out_page("/det/login?next=" + next_)
            sign_in(page, "eve", "Secret-Word-1")
            expect(page.locator(".who-name")).to_have_text("eve")
            self.assertTrue(page.url.startswith(self.testbed.url + "/det/"))

    def test_signing_out_is_remembered(self):
        self.allow(LOST)
        self.person("carl")
        page = self.page_at("/det/settings", token=self.token_of("carl"))
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")
        page.goto(self.testbed.url + "/det/")
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")

    def test_a_session_that_is_lost_in_the_middle_leads_back_to_the_same_page(self):
        self.allow(LOST)
        self.person("dora")
        page = self.page_at("/det/settings", token=self.token_of("dora"))
        page.evaluate("localStorage.setItem('det.signedOut', '1')")
        page.context.clear_cookies()
        page.get_by_label("Display name").fill("Dora D.")
        page.get_by_role("button", name="Save").click()
        expect(page).to_have_url(self.testbed.url + "/det/login?next=%2Fsettings")
        sign_in(page, "dora", "Secret-Word-1")
        expect(page).to_have_url(self.testbed.url + "/det/settings")
        expect(page.get_by_role("heading", level=1)).to_have_text("Settings")


    def test_a_session_that_is_closed_elsewhere_is_noticed_by_a_page_that_only_watches(self):
        self.allow(LOST)
        self.person("hal")
        token = self.token_of("hal")
        page = self.page_at("/det/", token=token)
        page.evaluate("localStorage.setItem('det.signedOut', '1')")
        before, self.testbed.token = self.testbed.token, token
        try:
            self.testbed.api("POST", "/api/v1/auth/logout", {})
        finally:
            self.testbed.token = before
        self.testbed.wait(self.testbed.create("seen by nobody", "#!/bin/sh\n"))
        expect(page.get_by_role("heading", level=1)).to_have_text("Sign in")


class Settings(People):
    def test_settings_show_the_user_and_the_master(self):
        page = self.page_at("/det/settings")
        expect(page.get_by_role("definition").filter(has_text="determined").first).to_be_visible()
        expect(page.get_by_text("det 0.")).to_be_visible()
        self.looks(page, "settings")

    def test_the_name_that_is_shown_can_be_changed(self):
        self.person("fay")
        page = self.page_at("/det/settings", token=self.token_of("fay"))
        page.get_by_label("Display name").fill("<b>Fay</b>")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".who-name")).to_have_text("<b>Fay</b>")
        page.reload()
        expect(page.get_by_label("Display name")).to_have_value("<b>Fay</b>")

    def test_the_theme_is_chosen_and_kept(self):
        page = self.page_at("/det/settings")
        back = "getComputedStyle(document.body).color"
        light = page.evaluate(back)
        page.get_by_label("Dark").check()
        self.assertNotEqual(page.evaluate(back), light)
        page.reload()
        self.filled(page)
        self.assertNotEqual(page.evaluate(back), light)
        expect(page.get_by_label("Dark")).to_be_checked()
        self.keyboard_reaches(page, "input[type=radio]")
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_label("Light")).to_be_checked()
        self.assertEqual(page.evaluate(back), light)
        page.get_by_label("System").check()
        page.emulate_media(color_scheme="dark")
        self.assertNotEqual(page.evaluate(back), light)

    def test_a_new_password_counts_at_once_and_this_session_goes_on(self):
        self.allow(LOST)
        user = self.person("gus")
        other = self.token_of("gus")
        page = self.page_at("/det/settings", token=self.token_of("gus"))

        def change(old, new, again):
            page.get_by_label("Current password").fill(old)
            page.get_by_label("New password").fill(new)
            page.get_by_label("Confirm password").fill(again)
            page.get_by_role("button", name="Change password").click()

        change("Secret-Word-1", "short", "short")
        expect(page.get_by_role("alert")).to_contain_text("at least 8 characters")
        change("Secret-Word-1", "Another-Word-2", "Another-Word-3")
        expect(page.get_by_role("alert")).to_contain_text("differ")
        change("wrong", "Another-Word-2", "Another-Word-2")
        expect(page.get_by_role("alert")).to_contain_text("current password is wrong")
        change("Secret-Word-1", "Another-Word-2", "Another-Word-2")
        expect(page.get_by_text("Password changed.")).to_be_visible()
        self.assertTrue(self.token_of("gus", "Another-Word-2"))
        with self.assertRaises(RuntimeError):
            self.token_of("gus")
        page.get_by_label("Display name").fill("still here")
        page.get_by_role("button", name="Save").click()
        expect(page.locator(".who-name")).to_have_text("still here")
        before, self.testbed.token = self.testbed.token, other
        try:
            with self.assertRaises(RuntimeError):
                self.testbed.api("GET", f"/api/v1/users/{user['id']}")
        finally:
            self.testbed.token = before
